"""`python -m pytscope`: the same as the `pytscope` command."""

from pytscope.cli import main

if __name__ == "__main__":
    main()
