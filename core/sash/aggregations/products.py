"""Products that neither overflow nor vanish on the way.

A partial is (mantissa, exponent) with the value ``mantissa · 2**exponent``: 1e200 · 1e200 · 1e-300 is 1e100, however it
is merged.
"""

from __future__ import annotations

import math

from sash.aggregations.base import Aggregation, Kind

__all__ = ["Product"]

Partial = tuple[float, int]


def _scaled(value: float, exponent: int) -> Partial:
    if value - value != 0 or value == 0:  # NaN, an infinity or 0, whatever the exponent
        return (value, 0)
    mantissa, shift = math.frexp(value)
    return (mantissa, exponent + shift)


def _lift(value: float) -> Partial:
    return _scaled(float(value**1), 0)  # only numbers have powers: text and times are refused


def _combine(a: Partial, b: Partial) -> Partial:
    return _scaled(a[0] * b[0], a[1] + b[1])


def _lower(partial: Partial) -> float:
    mantissa, exponent = partial
    if exponent > 1024:
        return mantissa * math.inf
    if exponent < -1100:
        return mantissa * 0.0
    return math.ldexp(mantissa, int(exponent))


class Product(Aggregation):
    """The product of all values, a float, as DuckDB's ``product`` and Polars'; infinite beyond 1.8e308.

    NaN makes it NaN, and so does a zero together with an infinity. Products on the way neither overflow nor vanish.
    Algebraic, commutative, not invertible.

    >>> import sash
    >>> growth = sash.Product("factor")
    >>> growth.lower(growth.combine(growth.lift(1.5), growth.lift(4)))
    6.0
    """

    kind = Kind.ALGEBRAIC
    commutative = True
    _lift = staticmethod(_lift)
    _combine = staticmethod(_combine)
    _lower = staticmethod(_lower)
