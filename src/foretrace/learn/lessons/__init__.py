"""One module for each lesson: ``build(shelf)`` gives its blocks. No number is typed into a sentence here."""
