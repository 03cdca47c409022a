"""`python -m tla`: the command `tla`."""

from .apps.cli import process

if __name__ == "__main__":
    process()
