"""``python -m foretrace`` is the command line."""

from foretrace.cli import main

if __name__ == "__main__":
    main()
