"""The bytes of a kept window: pages of elements, and the header that says which of them make the window.

    header        algorithm, aggregation, page size, front, end, swept: the window is the positions front … end - 1;
                  pages that lie before swept have been deleted
    page          level, number, and the elements as columns: the elements number·size … of that level

Both are envelopes as of saved states (docs/state.md), with a checksum. Only whole pages are written, and with each
header the leaves behind the last whole page, a page of them at most; of the levels above, what is in no whole page is
computed anew from the level below when a window is opened.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sash.state.envelope import StateError, opened, sealed
from sash.state.parts import _column as column_parts
from sash.state.parts import _read_column as read_column
from sash.state.untagged import dumps, loads
from sash.stores.base import StoreError
from sash.values.partial_column import PartialColumn

__all__ = ["Header", "read_page", "written_page"]

_PAGE, _HEADER = 16, 17
"""What an envelope holds; saved states have the numbers before."""


@dataclass(frozen=True)
class Header:
    """What makes a window of pages. ``owner`` and ``number`` are such that no two headers are alike."""

    algorithm: str
    aggregation: str
    page: int
    front: int = 0
    end: int = 0
    swept: int = 0
    number: int = 0
    owner: bytes = b""
    """Drawn by whoever opens the store."""

    def to_bytes(self) -> bytes:
        """O(1)."""
        return sealed(_HEADER, [dumps(asdict(self))])

    @staticmethod
    def from_bytes(data: bytes, name: str) -> Header:
        """The reverse; a :class:`StoreError` if it was not written by it, or is damaged."""
        try:
            header = Header(**loads(opened(data, _HEADER, 1)[0]))
        except (StateError, TypeError, ValueError) as error:
            raise StoreError(f"{name} does not hold a window, or is damaged: {error}") from error
        if not 0 <= header.swept <= header.front <= header.end:
            raise StoreError(f"{name} is damaged: its header says that the window ends before it begins")
        return header

    def check(self, wanted: Header, name: str) -> None:
        """Refuse a window of something else."""
        for what in ("algorithm", "aggregation", "page"):
            there, asked = getattr(self, what), getattr(wanted, what)
            if there != asked:
                known = "cache, which must be twice" if what == "page" else what
                raise StoreError(f"{name} holds a window with another {known}: {there}, not {asked}")


def written_page(level: int, page: int, elements: list[Any], trusted: bool) -> bytes:
    """The bytes of a page. O(elements)."""
    return sealed(_PAGE, [dumps((level, page, column_parts(PartialColumn.of(elements))), trusted)])


def read_page(level: int, page: int, data: bytes | None, size: int, name: str, trusted: bool) -> list[Any]:
    """The elements of a page, ``size`` of them; a :class:`StoreError` if it is not there, damaged or another one."""
    where = f"page {page} of level {level}"
    if data is None:
        raise StoreError(f"{name} is damaged: {where} is missing")
    try:
        found_level, found_page, column = loads(opened(data, _PAGE, 1)[0], trusted)
        elements = read_column(column).to_list()
    except (StateError, TypeError, ValueError) as error:
        raise StoreError(f"{name} is damaged: {where} cannot be read: {error}") from error
    if (found_level, found_page, len(elements)) != (level, page, size):
        raise StoreError(f"{name} is damaged: {where} is another one, or not whole")
    return elements
