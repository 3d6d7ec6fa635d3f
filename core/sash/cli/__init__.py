"""The command line: ``sash run``, ``explain``, ``generate``, ``experiment``. Also ``python -m sash.cli``.

It exits with 0 if all went well, with 1 if the data did not allow it, with 2 if it was not asked rightly (arguments,
the query file, an engine that is not there); an error is one sentence on standard error.
"""

from sash.cli.main import main

__all__ = ["main"]
