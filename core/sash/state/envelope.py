"""Sections of bytes in an envelope, which states what they are and detects damage."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple
from zlib import crc32

__all__ = [
    "BLOCK_OF_SLICES",
    "HEADER",
    "VERSION",
    "WHOLE",
    "Envelope",
    "StateError",
    "open_envelope",
    "open_sections",
    "seal",
    "state_errors",
]

VERSION = 2
HEADER, BLOCK_OF_SLICES, WHOLE = 1, 2, 3
"""What an envelope holds."""
_LENGTH = struct.Struct("<Q")
_PREAMBLE = struct.Struct("<4sHBBI")
_CHECK = struct.Struct("<I")


class StateError(ValueError):
    """Bytes that are not a state of this query: damaged, cut off, of something else, or of a newer version."""


@contextmanager
def state_errors() -> Iterator[None]:
    """Raise whatever damaged values lead to as a :class:`StateError`."""
    try:
        yield
    except StateError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise StateError(f"the saved state cannot be read: {error}") from error


class Envelope(NamedTuple):
    """What is inside, and by which version of the format it was written."""

    version: int
    kind: int
    sections: list[bytes]

    def require(self, kinds: Collection[int], least: int = 1) -> None:
        """Refuse an envelope of another kind, or with fewer sections."""
        if self.kind not in kinds or len(self.sections) < least or self.version < 1:
            raise StateError(
                "the saved state is damaged, or not in the place where it belongs: it is a part of another kind"
            )


def seal(kind: int, sections: Sequence[bytes]) -> bytes:
    """A preamble and sections, each between its length and the checksum of all bytes so far. O(bytes)."""
    out = [_PREAMBLE.pack(b"SASH", VERSION, kind, 0, len(sections))]
    check = crc32(out[0])
    for section in sections:
        length = _LENGTH.pack(len(section))
        check = crc32(section, crc32(length, check))
        out += [length, section, _CHECK.pack(check)]
    return b"".join(out)


def open_envelope(blob: bytes) -> Envelope:
    """The reverse of :func:`seal`. Raises :class:`StateError` for other or damaged bytes. O(bytes)."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise StateError(f"a saved state is bytes; got {type(blob).__name__}")
    blob = bytes(blob)
    if blob[:4] != b"SASH":
        raise StateError(
            "this is not a saved state of Sash: its first bytes are other ones" if blob else "the saved state is empty"
        )
    if len(blob) < _PREAMBLE.size:
        raise StateError(f"the saved state is cut off: it has {len(blob)} bytes only")
    _, version, kind, _, count = _PREAMBLE.unpack_from(blob)
    if version > VERSION:
        raise StateError(
            f"the saved state is of format version {version}, but this version of Sash reads up to {VERSION}: use a "
            "newer one"
        )
    at, check = _PREAMBLE.size, crc32(blob[: _PREAMBLE.size])
    sections: list[bytes] = []
    while len(sections) < count:
        end = at + _LENGTH.size + (_LENGTH.unpack_from(blob, at)[0] if at + _LENGTH.size <= len(blob) else 0)
        if end + _CHECK.size > len(blob):
            raise StateError(f"the saved state is cut off, or damaged: section {len(sections)} reaches beyond its end")
        check = crc32(blob[at:end], check)
        if check != _CHECK.unpack_from(blob, end)[0]:
            raise StateError(f"the saved state is damaged: the checksum of section {len(sections)} does not match")
        sections.append(blob[at + _LENGTH.size : end])
        at = end + _CHECK.size
    if at != len(blob):
        raise StateError(f"the saved state is damaged: {len(blob) - at} bytes follow its end")
    return Envelope(version, kind, sections)


def open_sections(blob: bytes, kind: int, least: int = 1) -> list[bytes]:
    """The sections, at least so many, of an envelope of this kind."""
    envelope = open_envelope(blob)
    envelope.require([kind], least)
    return envelope.sections
