"""``python -m surefoot``: the command line."""

from surefoot.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
