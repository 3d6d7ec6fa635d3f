"""Line plots on logarithmic axes as SVG, without a plotting package: what the benchmarks' figures are made with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

__all__ = ["plot"]

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 40, 50
_COLOURS = [
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#000000",
    "#999933",
    "#882255",
    "#44aa99",
]

Points = Sequence[tuple[float, float]]


class _Axis:
    """Maps values to pixels, logarithmically to a base."""

    def __init__(self, values: Sequence[float], base: float, low: float, high: float) -> None:
        self._base, self._low, self._high = base, low, high
        self.begin = math.floor(math.log(min(values), base) + 1e-9)
        self.end = max(math.ceil(math.log(max(values), base) - 1e-9), self.begin + 1)

    def __call__(self, value: float) -> float:
        share = (math.log(value, self._base) - self.begin) / (self.end - self.begin)
        return self._low + share * (self._high - self._low)

    def ticks(self, most: int) -> Iterator[tuple[int, float]]:
        step = -(-(self.end - self.begin) // most)
        for exponent in range(self.begin, self.end + 1, step):
            yield exponent, self(self._base**exponent)


def plot(title: str, x_label: str, y_label: str, lines: Mapping[str, Points]) -> str:
    """The SVG text of lines by name: x in powers of 2, y in powers of 10. O(points)."""
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    x_axis = _Axis(xs, 2, _LEFT, _WIDTH - _RIGHT)
    y_axis = _Axis(ys, 10, _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 22, title, 'font-size="14" font-weight="bold"'),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, x_label, 'text-anchor="middle"'),
        _text(14, _TOP - 8, y_label, ""),
        *_grid(x_axis, y_axis),
    ]
    for number, (name, points) in enumerate(lines.items()):
        parts += _line(number, name, points, x_axis, y_axis)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _grid(x_axis: _Axis, y_axis: _Axis) -> Iterator[str]:
    for exponent, x in x_axis.ticks(12):
        yield f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="#dddddd"/>'
        yield _text(x, _HEIGHT - _BOTTOM + 16, f"2^{exponent}", 'text-anchor="middle"')
    for exponent, y in y_axis.ticks(9):
        yield f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#dddddd"/>'
        yield _text(_LEFT - 6, y + 4, f"{10.0**exponent:g}", 'text-anchor="end"')


def _line(number: int, name: str, points: Points, x_axis: _Axis, y_axis: _Axis) -> Iterator[str]:
    colour = _COLOURS[number % len(_COLOURS)]
    dashes = ' stroke-dasharray="5 3"' if "," in name else ""
    path = " ".join(f"{x_axis(x):.1f},{y_axis(y):.1f}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    y = _TOP + 10 + 18 * number
    begin = _WIDTH - _RIGHT + 12
    yield f'<path d="M{begin} {y}h24" stroke="{colour}" stroke-width="2"{dashes}/>'
    yield _text(begin + 30, y + 4, name, "")


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
