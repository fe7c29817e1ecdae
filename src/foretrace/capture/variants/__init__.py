"""The attention variants, one file each."""
