"""Pieces of the report's markup: tables, numbers, facts, and text with powers as such."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

__all__ = ["number", "pairs", "table", "text"]

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
    """For the page, with powers as such."""
    return re.sub(r"\b(2|10)\^(\d+)", lambda found: found[1] + found[2].translate(_RAISED), escape(plain))
