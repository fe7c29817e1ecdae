"""Terminal, JSON and page: what a person sees."""
