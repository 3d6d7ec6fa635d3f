"""Folders of stores whose files are damaged, or whose disk is full: a StoreError in words, or nothing is wrong."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sash
from sash.stores import LMDBStore, RocksDBStore, StoredAMTA

PAGE, VALUES, DAMAGES = 4096, 2000, 40
STORES = {"lmdb": LMDBStore, "rocksdb": RocksDBStore}

DRAIN_EACH = """
import sys
import sash
from sash.stores import LMDBStore, RocksDBStore, StoredAMTA, StoreError

store = {"lmdb": LMDBStore, "rocksdb": RocksDBStore}[sys.argv[1]]
for folder in sys.argv[2:]:
    try:
        with StoredAMTA(sash.Max(), store(folder), buffer=3, cache=4) as window:
            answers = {window.query()}
            while len(window):
                window.evict()
                answers.add(window.query())
            print(answers, flush=True)
    except StoreError:
        print("StoreError", flush=True)
"""

FILL_DISK = """
import resource, signal, sys
from sash.stores import LMDBStore, RocksDBStore, StoreError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = {"lmdb": LMDBStore, "rocksdb": RocksDBStore}[sys.argv[1]](sys.argv[2])
limit = int(sys.argv[3])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
header = None
try:
    for number in range(10_000):
        store.commit({b"%d" % number: bytes(1000)}, b"%d" % number, header)
        header = b"%d" % number
except StoreError as error:
    print("commit:", error)
try:
    store.close()
except StoreError as error:
    print("close:", error)
print("last header:", header.decode())
"""


def run(program: str, *arguments: object) -> list[str]:
    """The lines that a process of its own prints: damaged maps of memory can end one."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode} after {done.stdout.splitlines()[-1:]}: {done.stderr}"
    return done.stdout.splitlines()


def damage(folder: Path, rng: random.Random) -> str:
    """Damage one file of a folder."""
    path = rng.choice(sorted(path for path in folder.iterdir() if path.stat().st_size))
    content, how = bytearray(path.read_bytes()), rng.choice(["a flipped bit", "cut", "a page of zeros", "foreign"])
    at = rng.randrange(len(content))
    if how == "a flipped bit":
        content[at] ^= 1 << rng.randrange(8)
    elif how == "cut":
        del content[at:]
    elif how == "a page of zeros":
        at -= at % PAGE
        content[at : at + PAGE] = bytes(len(content[at : at + PAGE]))
    else:
        content[:] = rng.randbytes(len(content))
    path.write_bytes(content)
    return f"{path.name}: {how} at {at}"


@pytest.mark.parametrize("kind", STORES)
def test_damaged_files_are_refused_or_give_what_was_stored(kind: str, tmp_path: Path) -> None:
    rng = random.Random(kind)
    with StoredAMTA(sash.Max(), STORES[kind](tmp_path / "whole"), buffer=3, cache=4) as window:
        window.insert_many(range(VALUES))
    damages = {}
    for number in range(DAMAGES):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        damages[folder] = damage(folder, rng)
    answers = run(DRAIN_EACH, kind, *damages)
    for answer, what in zip(answers, damages.values(), strict=True):
        assert answer in ("StoreError", str({VALUES - 1, None})), what
    assert 3 < answers.count("StoreError") < DAMAGES


@pytest.mark.parametrize("kind", STORES)
def test_a_full_disk_is_a_store_error_and_loses_no_commit(kind: str, tmp_path: Path) -> None:
    *said, last = run(FILL_DISK, kind, tmp_path / "store", 300_000)
    assert said and all(f"the {STORES[kind].__name__[:-5]} store in " in line for line in said)
    store = STORES[kind](tmp_path / "store")
    (header,) = store.get([b"header"])
    assert header is not None and f"last header: {header.decode()}" == last
    assert None not in store.get([b"%d" % number for number in range(int(header) + 1)])
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system; a limit on files stands in for it above")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize("kind", STORES)
def test_a_disk_that_is_full_is_a_store_error_until_there_is_room(kind: str, small_disk: Path) -> None:
    *said, last = run(FILL_DISK, kind, small_disk / "store", 0)
    assert said and all("No space left on device" in line or line.startswith("close:") for line in said)
    assert all(f"the {STORES[kind].__name__[:-5]} store in " in line for line in said)
    subprocess.run(["mount", "-o", "remount,size=64m", small_disk], check=True)
    store = STORES[kind](small_disk / "store")
    (header,) = store.get([b"header"])
    assert header is not None and f"last header: {header.decode()}" == last
    store.close()
