"""Pieces of the report's markup: tables, numbers, facts, and text with powers as such."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

__all__ = ["number", "pairs", "size", "table", "text"]

_LARGE = 1 << 13
"""In a sentence, smaller numbers stand as they are: 4096 readings are no size."""
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def table(title: str, head: list[str], rows: list[list[str]], opened: bool = False) -> str:
    """A table that can be folded away; the first cell of a row is its head."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in rest) + "</tr>"
        for first, *rest in rows
    )
    return (
        f"<details{' open' if opened else ''}><summary>{escape(title)}</summary>"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(title)}">'
        f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div></details>"
    )


def number(value: Any) -> str:
    """Three digits, or whole."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def pairs(known: dict[str, Any]) -> str:
    """Names and what is known of them."""
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(_fact(value))}</td></tr>' for name, value in known.items()
    )
    return f'<div class="scroll"><table class="pairs">{lines}</table></div>'


def _fact(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict) else str(value)


def text(plain: str) -> str:
    """For the page: powers as such, and large sizes as powers of two.

    >>> text("from 2^15 on, 1.0× to 1,048,576")
    'from 2¹⁵ on, 1.0× to 2²⁰'
    """
    raised = re.sub(r"\b(2|10)\^(\d+)", lambda found: found[1] + found[2].translate(_RAISED), escape(plain))
    return re.sub(r"(?<![\d.,])\d[\d,]{3,}(?![\d.]|,\d)", lambda found: size(found[0], _LARGE), raised)


def size(plain: str, least: int = 8) -> str:
    """A whole number from ``least`` on that is a power of two, as such; all else as it is.

    >>> size("1024"), size("4"), size("1000"), size("in order")
    ('2¹⁰', '4', '1000', 'in order')
    """
    digits = plain.replace(",", "")
    whole = int(digits) if digits.isdecimal() else 0
    if whole < least or whole & (whole - 1):
        return plain
    return "2" + str(whole.bit_length() - 1).translate(_RAISED)
