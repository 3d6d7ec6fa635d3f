"""Save the states of :mod:`state_v1.cases` with version 0.1, which this script runs on:

    PYTHONPATH=CHECKOUT_OF_0.1/core:core/tests python -m state_v1.write 0.1.1

It writes ``core/tests/state_v1/0.1.1.zip``: for each case, as taken row by row and in batches, the whole snapshot and
the one in parts, a header and its blocks. The last commit of 0.1.0 writes the same bytes as 0.1.1.
"""

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_LZMA, ZipFile, ZipInfo

import sash
from state_v1.cases import KEYED, OPERATOR, Case, run


def states(case: Case, create: Any, size: int) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files of a case."""
    op = create(case.query)
    list(run(op, case.events[: case.cut], size))
    yield "whole", op.snapshot(trusted=True)
    parts = op.snapshot_parts(trusted=True)
    yield "header", parts[0]
    for name, block in parts[1].items():
        yield f"block {name!r}", block


def write(version: str) -> None:
    from sash.keyed import KeyedOperator  # type: ignore[import-not-found]  # where 0.1 has it

    path = Path(__file__).with_name(f"{version}.zip")
    with ZipFile(path, "w", ZIP_LZMA) as archive:
        for kind, cases, sizes in (("operator", OPERATOR, (0, 7)), ("keyed", KEYED, (7,))):
            create = sash.Operator if kind == "operator" else lambda query: KeyedOperator(query, own_watermark=True)
            for name, case in cases.items():
                for size in sizes:
                    for file, content in states(case, create, size):
                        archive.writestr(ZipInfo(f"{kind}/{name}/{size}/{file}"), content, ZIP_LZMA)
    print(path, path.stat().st_size)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write(sys.argv[1])
