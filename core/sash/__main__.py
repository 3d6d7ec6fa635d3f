"""``python -m sash``: the command ``sash``, for where the script is not on PATH."""

import sys

from sash.cli import main

if __name__ == "__main__":
    sys.exit(main())
