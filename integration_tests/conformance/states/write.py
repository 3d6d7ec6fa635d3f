"""Writes the state of every conformance case after half of its rows, on the release that is to be upgraded from.

In a checkout of that release, with its conformance cases:

    PYTHONPATH=.:core python .../integration_tests/conformance/states/write.py .../states/0.1.1.zip
"""

from __future__ import annotations

import sys
import warnings
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa  # type: ignore[import-untyped]
from integration_tests.conformance.cases import CASES

OF_EACH_KEY: Any = "key"
try:
    from sash.spi import KeyedOperator
except ImportError:  # 0.1
    from sash.keyed import KeyedOperator  # type: ignore[import-not-found, no-redef]

    OF_EACH_KEY = True


def write(path: str) -> None:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for case in CASES:
            op = KeyedOperator(case.query, own_watermark=OF_EACH_KEY)
            rows = case.rows[: len(case.rows) // 2]
            op.process_batch(rows if case.mixed else pa.Table.from_pylist(rows, case.arrow))
            archive.writestr(case.name, op.snapshot(trusted=True))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write(sys.argv[1])
