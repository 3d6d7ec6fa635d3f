"""Sash's operator on Flink, but that it fails, once, when it is told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sash_flink.function import Live
from sash_flink.packed import PackedFunction

__all__ = ["SIGN", "Touchy"]

SIGN = "fail-once"
"""The file in the folder that all containers share that tells it to."""


class Touchy(PackedFunction):
    """A job's own code that raises: Flink's restart strategy has to bring it back."""

    def take(self, live: Live, records: bytes) -> Any:
        sign = Path("/cluster", SIGN)
        if sign.exists():
            sign.unlink(missing_ok=True)  # another task may have seen it too
            raise RuntimeError("told to fail")
        return super().take(live, records)
