"""`python -m tla`: the command `tla`."""

from .apps.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
