"""The command line as a script: what runs on a cluster is one."""

import sys

from sash.cli import main

if __name__ == "__main__":
    sys.exit(main())
