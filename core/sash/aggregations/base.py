"""What an aggregation is: ``lift``, ``combine``, ``lower`` and their algebra.

The vocabulary is that of the Reactive Aggregator paper:

    value --lift--> partial --combine (⊕)--> partial --lower--> result

``lift`` makes the partial of one value, ``combine`` merges the partials of two neighbouring stretches of the stream,
older first, and ``lower`` turns a partial into the result a user sees. ``combine`` must be associative; nothing else
is asked of it. What an aggregation can do beyond that is an offer a merging algorithm may take up:

- ``commutative``: the order of the arguments of ``combine`` does not matter;
- ``invertible``: ``invert(a ⊕ b, a) == b``, so that the oldest part of a window can be taken out again. It is a left
  inverse: that is what a FIFO window needs, and it lets order-sensitive aggregations such as Collect offer one;
- ``selective``: ``a ⊕ b`` is always one of ``a`` and ``b`` themselves (max, but not sum).

Every aggregation is made a monoid in the same way, by adjoining a neutral element: ``identity`` is ``None``, the ⊥ of
FlatFAT. It is the partial of a window without values and of a null, which is how nulls are skipped. So ``_lift``,
``_combine``, ``_lower`` and ``_invert``, which an aggregation defines, see real values and real partials only; they
are plain functions without ``self`` wherever they can be, so that they can be compiled. ``lift``, ``combine``,
``lower`` and ``invert``, which everything else calls, are total.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np

__all__ = ["Aggregation", "Flat", "Full", "Functions", "Kind", "Sliced"]


_NUMPY_SCALARS = (np.number, np.bool_)


class Kind(Enum):
    """How large a partial is (Gray et al.): as large as a result, bounded, or growing with the window."""

    DISTRIBUTIVE = "distributive"
    ALGEBRAIC = "algebraic"
    HOLISTIC = "holistic"


class Functions(NamedTuple):
    """What the columnar path compiles: on real values and partials only, like those that an aggregation defines."""

    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any]
    guarded: bool = False
    """Whether the last part of a result tells that the others are out of their type's range."""


class Full(NamedTuple):
    """What the columnar path compiles where all windows are full and without nulls: nobody needs to count values."""

    lift: Callable[[Any, Any], Any]
    """Of a value and an origin to measure it from, a value of every window that the partial will be part of."""
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any, int], Any]
    """Of a partial and the count of values in it."""
    counted: Callable[[Any, Any, Any], tuple[Any, ...]]
    """Of a partial, its count and its origin, arrays all of them: that partial for :class:`Functions`."""

    @property
    def guarded(self) -> bool:
        return False


class Sliced(NamedTuple):
    """What is compiled for slices of columns, whose partials go to and fro between rows and columns."""

    functions: Functions
    to_rows: Callable[..., tuple[Any, ...]] | None = None
    """The arrays of a row's numbers from those of the numbers in a compiled partial; None: they are the same."""
    from_rows: Callable[..., tuple[Any, ...]] | None = None
    """The inverse; ``ValueError`` where there is none."""


class Flat(NamedTuple):
    """Partials as rows of an array, so that a kernel which releases the GIL can compute the ``lcs`` of many."""

    width: int
    dtype: str
    to_row: Callable[[Any], Any]
    """The numbers of a partial; of the identity, those that a merge leaves alone."""
    from_row: Callable[[Any], Any]
    """The inverse."""
    suffixes: Callable[[Any], None]
    """To be compiled: makes each row of an array, but the first, the sum of itself and all behind it, in place."""


class Aggregation:
    """Base of all aggregations. An instance is immutable, cheap, comparable and picklable.

    ``columns`` names the input columns a query feeds it; without names it takes bare values (an aggregation of two
    columns takes pairs).

    >>> import sash
    >>> peak = sash.Max("load")
    >>> peak.lower(peak.combine(peak.lift(3), peak.lift(5)))
    5
    >>> peak.lower(peak.combine(peak.lift(None), peak.identity)) is None
    True
    """

    arity: ClassVar[int] = 1
    """How many input columns it reads."""
    fields: ClassVar[tuple[str, ...]] = ()
    """The names of the parts of a result that has several, else empty."""
    result_column: ClassVar[int | None] = None
    """Which input column a result is a value of, if it is: the result then has that column's type."""
    result_tuple: ClassVar[type | None] = None
    """The named tuple that a result of several parts is."""
    carried: ClassVar[tuple[int, ...]] = ()
    """Which input columns may be null in a row that counts: a null there is a value. A null elsewhere skips the row."""
    lifts_booleans: ClassVar[bool] = False
    """Whether compiled functions tell booleans from the numbers 0 and 1."""
    _lifts_rows: ClassVar[bool] = True
    """Whether ``_lift`` of several columns takes them as one tuple; else as several arguments."""
    empty: Any = None
    """The result of a window without values."""
    identity: ClassVar[None] = None
    """The partial of a window without values: neutral under ``combine``."""
    kind: Kind = Kind.DISTRIBUTIVE
    commutative: bool = False
    selective: bool = False
    releases_gil: bool = False
    """Whether ``combine`` lets other threads run meanwhile, so that a second thread is of use to PBA."""

    _lift: Callable[[Any], Any]
    _combine: Callable[[Any, Any], Any]
    _lower: Callable[[Any], Any]
    _invert: Callable[[Any, Any], Any] | None = None

    def __init__(self, *columns: str) -> None:
        if any(not isinstance(column, str) for column in columns):
            raise TypeError(f"{self.name} takes column names, which are strings; got {columns!r}")
        if columns and len(columns) != self.arity:
            raise TypeError(
                f"{self.name} reads {self.arity} column{'s' * (self.arity != 1)}; got {len(columns)}: {columns!r}"
            )
        self.columns = columns

    @property
    def name(self) -> str:
        """What messages and plans call it."""
        return type(self).__name__

    @property
    def takes_ticks(self) -> bool:
        """Whether it may be given timestamps and durations as the integers that they are made of.

        It may if it only compares, chooses or counts values. Others compute with them, or put them in their results.
        """
        return self.result_column is not None

    @property
    def invertible(self) -> bool:
        """Whether ``invert`` may be called."""
        return self._invert is not None

    def lift(self, value: Any) -> Any:
        """The partial of one value; ``None`` (null) lifts to the identity."""
        if value is None:
            return None
        if isinstance(value, _NUMPY_SCALARS) and not isinstance(value, np.timedelta64):
            value = value.item()  # Python's own integers do not wrap around, and its floats are faster
        try:
            return self._lift(value)
        except (TypeError, ArithmeticError) as error:
            raise TypeError(f"{self!r} cannot aggregate {value!r} of type {type(value).__name__}: {error}") from error

    def combine(self, a: Any, b: Any) -> Any:
        """The partial of two neighbouring stretches, ``a`` the older one. Neither argument is changed."""
        if a is None:
            return b
        if b is None:
            return a
        return self._combine(a, b)

    def lower(self, partial: Any) -> Any:
        """The result that a partial stands for."""
        return self.empty if partial is None else self._lower(partial)

    def invert(self, total: Any, oldest: Any) -> Any:
        """What is left of ``total`` without its ``oldest`` part: ``invert(a ⊕ b, a) == b`` unless ``b`` is empty."""
        if self._invert is None:
            raise TypeError(f"{self!r} is not invertible")
        return total if oldest is None else self._invert(total, oldest)

    def columnar(self, kind: str, clean: bool) -> Functions:
        """Its functions to be compiled for a column of a NumPy ``kind`` ("i", "u", "f"), ``clean`` if without NaN."""
        return Functions(self._lift, self._combine, self._lower)

    def full(self, kind: str) -> Full | None:
        """Functions that are faster where all windows of a column are full, if it has such."""
        return None

    def sliced(self, kind: str) -> Sliced:
        """Its functions to be compiled for slices of a column of a NumPy ``kind``: with the partials of its rows."""
        functions = self.columnar(kind, clean=False)
        if (functions.lift, functions.combine) != (self._lift, self._combine):
            functions = Functions(self._lift, self._combine, self._lower)
        return Sliced(functions)

    def sliced_with_nulls(self, kind: str) -> Sliced:
        """The same for columns with nulls among those that are ``carried``.

        ``lift`` gets a boolean more for each such column, at the end: whether it is null.
        """
        raise TypeError(f"{self!r} carries no nulls")

    def flat(self) -> Flat | None:
        """Its partials as rows of an array, if they are large and can be such: what PBA's second thread works on."""
        return None

    def _arguments(self) -> dict[str, Any]:
        """The constructor's keyword arguments: what tells two instances of a class apart besides their columns."""
        return {}

    def __repr__(self) -> str:
        arguments = [repr(column) for column in self.columns]
        arguments += [f"{name}={value!r}" for name, value in self._arguments().items()]
        return f"{self.name}({', '.join(arguments)})"

    def _key(self) -> tuple[Any, ...]:
        return (type(self), self.columns, *self._arguments().items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aggregation) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())
