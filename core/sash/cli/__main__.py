"""So that ``python -m sash.cli`` works where the script is not on PATH."""

import sys

from sash.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
