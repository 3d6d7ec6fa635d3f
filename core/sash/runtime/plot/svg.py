"""A picture as SVG text: boxes, lines and words at places along one axis. No plotting package is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path

__all__ = ["COLOURS", "Axis", "Picture", "box", "dot", "line", "picture", "words"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#44aa99")
"""Told apart by colour-blind readers, too (Okabe and Ito)."""
_LETTER = 6.2
"""The width of a letter of 11 pixels, on average."""


class Picture(str):
    """SVG text, which notebooks draw.

    >>> Picture("<svg/>")._repr_html_()
    '<svg/>'
    """

    def _repr_html_(self) -> str:
        return str(self)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file, which browsers open."""
        Path(path).write_text(self, encoding="utf-8")


class Axis:
    """Maps values from ``low`` to ``high`` to pixels from ``begin`` to ``end``.

    >>> axis = Axis(0, 10, 100, 200)
    >>> axis(5), list(axis.ticks([2, 5], 3))
    (150.0, [0, 5, 10])
    """

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high, self.begin, self.end = low, high, begin, end

    def __call__(self, value: float) -> float:
        width = self.high - self.low
        share = (value - self.low) / width if width else 0.5
        return self.begin + share * (self.end - self.begin)

    def ticks(self, steps: list[int], most: int) -> Iterator[float]:
        """Multiples of the first of ``steps``, ascending, of which at most ``most`` lie on the axis; or of a longer."""
        width = self.high - self.low
        step: float = next((step for step in steps if width / step <= most), 0)
        if not step:
            step = steps[-1] * math.ceil(width / steps[-1] / most)
        place = math.ceil(self.low / step) * step
        while place <= self.high:
            yield place
            place += step


def picture(width: float, height: float, title: str, parts: list[str]) -> Picture:
    """The whole: a white sheet with a title for those who do not see it, and its parts."""
    return Picture(
        "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
                'font-family="sans-serif" font-size="11" role="img" style="max-width:100%">',
                f"<title>{escape(title)}</title>",
                f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
                *parts,
                "</svg>\n",
            ]
        )
    )


def words(x: float, y: float, text: str, anchor: str = "start", fill: str = "#333333", room: float = math.inf) -> str:
    """Text that ends before ``room`` pixels: an ellipsis stands for the rest."""
    letters = int(room / _LETTER) if room < math.inf else len(text)
    shown = text if len(text) <= letters else text[: max(letters - 1, 0)] + "…"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(shown)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, hint: str = "", stroke: str = "none") -> str:
    """A rectangle, with a hint that browsers show under the pointer."""
    about = f"<title>{escape(hint)}</title>" if hint else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:g}" rx="2" fill="{fill}" '
        f'stroke="{stroke}">{about}</rect>'
    )


def line(points: list[tuple[float, float]], stroke: str, width: float = 1) -> str:
    """A line through points."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width:g}"/>'


def dot(x: float, y: float, fill: str, hint: str = "") -> str:
    """A point."""
    about = f"<title>{escape(hint)}</title>" if hint else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}">{about}</circle>'
