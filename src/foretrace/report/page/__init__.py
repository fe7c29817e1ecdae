"""What the page is made of: packed columns, sentences, figures, and the parts of the file itself."""
