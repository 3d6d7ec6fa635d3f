"""LMDB files that were cut short are refused in words. Mapped as they are, they would end the process with SIGBUS."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import lmdb
import pytest

import sash
from sash.stores import LMDBStore, StoredAMTA

PAGE = 4096

OPEN_EACH = """
import sys
import sash
from sash.stores import LMDBStore, StoredAMTA, StoreError

for folder in sys.argv[1:]:
    try:
        with StoredAMTA(sash.Max(), LMDBStore(folder, sync=False), buffer=3, cache=4) as window:
            window.verify()
            print("opened", len(window), window.query(), flush=True)
    except StoreError as error:
        print("StoreError:", error, flush=True)
"""


def answers(*folders: Path) -> list[str]:
    """What a process of its own says of each store: one that dies says nothing of the rest."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN_EACH, *map(str, folders)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.returncode} after {done.stdout.splitlines()[-1:]}: {done.stderr}"
    lines = done.stdout.splitlines()
    assert len(lines) == len(folders)
    return lines


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    folder = tmp_path / "whole"
    with StoredAMTA(sash.Max(), LMDBStore(folder, sync=False), buffer=3, cache=4) as window:
        window.insert_many(range(2000))
    return folder


def cut(whole: Path, length: int) -> Path:
    folder = whole.with_name(f"cut-{length}")
    folder.mkdir()
    shutil.copyfile(whole / "data.mdb", folder / "data.mdb")
    os.truncate(folder / "data.mdb", length)
    return folder


def test_a_file_cut_at_any_length_is_a_store_error(whole: Path) -> None:
    size = (whole / "data.mdb").stat().st_size
    assert size > 20 * PAGE
    lengths = {0, 1, 20, 100, 151, PAGE - 1, PAGE, PAGE + 1, PAGE + 151, 2 * PAGE - 1, 2 * PAGE, 2 * PAGE + 1}
    lengths |= {size - 1, size - PAGE, size - PAGE - 1, size // 2 + 7, *range(3 * PAGE, size, 5 * PAGE)}
    for length, answer in zip(sorted(lengths), answers(*(cut(whole, each) for each in sorted(lengths))), strict=True):
        assert answer.startswith("StoreError: the LMDB store in "), (length, answer)
        assert "data.mdb was cut short" in answer and "restore it from a copy" in answer, (length, answer)


def test_a_whole_file_opens_and_a_longer_one_too(whole: Path) -> None:
    longer = cut(whole, (whole / "data.mdb").stat().st_size + 5 * PAGE + 7)
    assert answers(whole, longer) == ["opened 2000 1999"] * 2


def test_a_file_that_is_not_lmdb_is_a_store_error(tmp_path: Path) -> None:
    folders = []
    for length in (1, 20, 200, PAGE, 5 * PAGE):
        folders.append(tmp_path / str(length))
        folders[-1].mkdir()
        (folders[-1] / "data.mdb").write_bytes((b"something else! " * PAGE)[:length])
    for answer in answers(*folders):
        assert answer.startswith("StoreError: the LMDB store in ")


def test_damaged_meta_pages_are_a_store_error(whole: Path) -> None:
    folders = []
    for at, value in ((40, b"\0\0\0\0"), (40, b"\7\0\0\0"), (136, b"\xff" * 8), (144, b"\xff" * 8)):
        folder = whole.with_name(f"meta-{at}-{value.hex()}")
        folder.mkdir()
        content = bytearray((whole / "data.mdb").read_bytes())
        for meta in (0, PAGE):
            content[meta + at : meta + at + len(value)] = value
        (folder / "data.mdb").write_bytes(content)
        folders.append(folder)
    *damaged, _ = answers(*folders)  # a transaction number can be anything
    assert all(answer.startswith("StoreError: the LMDB store in ") for answer in damaged), damaged


def short_stores(folder: Path) -> dict[Path, dict[bytes, bytes]]:
    """Stores whose files end before the last page, with what they hold. LMDB does not write pages that a transaction
    takes and frees again, at the end of the file neither."""
    rng, stores = random.Random(8), {}
    for number in range(40):
        place = folder / str(number)
        with lmdb.open(str(place), map_size=1 << 30, sync=False) as env:
            for _ in range(30):
                change_at_random(env, rng)
                if (place / "data.mdb").stat().st_size <= env.info()["last_pgno"] * PAGE:
                    with env.begin() as transaction:
                        stores[place] = {bytes(key): bytes(value) for key, value in transaction.cursor()}
                    break
    assert len(stores) > 3
    return stores


def change_at_random(env: Any, rng: random.Random) -> None:
    with env.begin(write=True) as transaction:
        for _ in range(rng.randrange(1, 60)):
            transaction.put(rng.randrange(200).to_bytes(4, "big"), bytes(rng.choice([10, 500, 3000, 9000])))
            transaction.delete(rng.randrange(200).to_bytes(4, "big"))


def test_a_whole_file_that_ends_before_its_last_page_opens(tmp_path: Path) -> None:
    for place, expected in short_stores(tmp_path).items():
        store = LMDBStore(place, sync=False)
        assert dict(zip(expected, store.get(list(expected)), strict=True)) == expected
        store.close()


def test_a_short_file_that_is_cut_further_is_a_store_error(tmp_path: Path) -> None:
    """Of the pages that are missing some are free and one, the last that was written, is not."""
    stores = short_stores(tmp_path)
    for place in stores:
        os.truncate(place / "data.mdb", (place / "data.mdb").stat().st_size - 1)
    for answer in answers(*stores):
        assert "data.mdb was cut short" in answer
