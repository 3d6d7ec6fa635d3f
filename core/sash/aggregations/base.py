"""What an aggregation is: ``lift``, ``combine``, ``lower`` and their algebra.

The vocabulary is that of the Reactive Aggregator paper:

    value --lift--> partial --combine (⊕)--> partial --lower--> result

``lift`` makes the partial of one value, ``combine`` merges the partials of two neighbouring stretches of the stream,
older first, and ``lower`` turns a partial into the result. ``combine`` must be associative, nothing else. An
aggregation may offer more, which merging algorithms use:

- ``commutative``: the order of the arguments of ``combine`` does not matter;
- ``invertible``: ``invert(a ⊕ b, a) == b``, so that the oldest part of a window can be removed. FIFO windows need only
  this left inverse, which order-sensitive aggregations such as Collect have too;
- ``selective``: ``a ⊕ b`` is always one of ``a`` and ``b`` themselves (max, but not sum).

A neutral element makes every aggregation a monoid: ``identity`` is ``None``, the ⊥ of FlatFAT. It is the partial of an
empty window and of a null, which is how nulls are skipped. An aggregation defines ``_lift``, ``_combine``, ``_lower``
and ``_invert`` for real values and partials only, as plain functions without ``self`` where possible, so that they can
be compiled. Everything else calls ``lift``, ``combine``, ``lower`` and ``invert``, which also take None.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

__all__ = [
    "LOWER_ARRAYS",
    "Aggregation",
    "Flat",
    "Full",
    "Functions",
    "Kind",
    "Sliced",
    "combined",
    "lowered",
    "renamed",
    "same",
]

_NUMPY_SCALARS = (np.number, np.bool_)


def same(value: Any) -> Any:
    """The value itself: ``lift`` and ``lower`` of aggregations whose partials are values."""
    return value


LOWER_ARRAYS: dict[Callable[..., Any], Callable[..., Any]] = {same: same}
"""For some functions that lower a partial, one that lowers many, given as an array a number, to the same bits.

It returns None where some of the partials need a look of their own.
"""


def renamed(error: Exception, sentence: str) -> Exception:
    """An error that says more, of the same type if that takes one sentence, else a ``TypeError``."""
    kinds = (TypeError, ValueError, ZeroDivisionError, OverflowError, ArithmeticError, RuntimeError)
    ours = type(error).__module__.startswith("sash.") and type(error).__init__ in (kind.__init__ for kind in kinds)
    return type(error)(sentence) if ours or type(error) in kinds else TypeError(sentence)


def _cause(error: Exception) -> str:
    """What went wrong, with the type of the error where its message alone does not say it."""
    return str(error) if isinstance(error, TypeError | ArithmeticError) else f"{type(error).__name__}: {error}"


class Kind(Enum):
    """How large a partial is (Gray et al.): as large as a result, bounded, or growing with the window."""

    DISTRIBUTIVE = "distributive"
    ALGEBRAIC = "algebraic"
    HOLISTIC = "holistic"


class Functions(NamedTuple):
    """What the columnar path compiles, for real values and partials only."""

    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any]
    guarded: bool = False
    """Whether the last part of a result says that the others overflow their type."""


class Full(NamedTuple):
    """What the columnar path compiles where all windows are full and without nulls, so no values need counting."""

    lift: Callable[[Any, Any], Any]
    """Takes a value and an origin to measure it from, which is a value of every window with this partial."""
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any, int], Any]
    """Takes a partial and the count of values in it."""
    counted: Callable[[Any, Any, Any], tuple[Any, ...]] | None = None
    """Takes arrays of partials, counts and origins; returns the partials of :class:`Functions`. Streams need it."""

    @property
    def guarded(self) -> bool:
        return False


class Sliced(NamedTuple):
    """What is compiled for slices of columns, whose partials move between rows and columns."""

    functions: Functions
    to_rows: Callable[..., tuple[Any, ...]] | None = None
    """Converts the arrays of compiled partials to those of row partials; None if they are the same."""
    from_rows: Callable[..., tuple[Any, ...]] | None = None
    """The inverse. Raises ``ValueError`` where there is none."""


class Flat(NamedTuple):
    """Partials as rows of an array, so that a kernel that releases the GIL can compute the ``lcs`` of many."""

    width: int
    dtype: str
    to_row: Callable[[Any], Any]
    """Returns the numbers of a partial; those of the identity are neutral."""
    from_row: Callable[[Any], Any]
    """The inverse."""
    merge: Callable[[Any, Any], None]
    """Merges a younger row into an older one, in place. It is compiled."""


class Aggregation:
    """Base of all aggregations. An instance is immutable, cheap, comparable and picklable.

    ``columns`` names the input columns a query feeds it; without names it takes bare values (an aggregation of two
    columns takes pairs). ``where`` names a boolean column: only rows for which it is true count, as with SQL's
    ``FILTER``; its nulls count as false. Its values come last in what ``lift`` takes.

    >>> import sash
    >>> peak = sash.Max("load")
    >>> peak.lower(peak.combine(peak.lift(3), peak.lift(5)))
    5
    >>> peak.lower(peak.combine(peak.lift(None), peak.identity)) is None
    True
    >>> query = sash.Query(windows=sash.tumbling(3), aggregates={"sold": sash.Sum("price", where="paid")})
    >>> sash.run(query, {"price": [3, 5, 7], "paid": [True, False, True]})["sold"]
    [10]
    """

    arity: ClassVar[int] = 1
    """How many input columns it reads."""
    fields: ClassVar[tuple[str, ...]] = ()
    """The names of the parts of a result that has several, else empty."""
    result_column: ClassVar[int | None] = None
    """The input column whose values the results are, if they are: results have its type."""
    result_kind: ClassVar[type | None] = None
    """The Python type of results, where two values are too few to show it."""
    result_tuple: ClassVar[type | None] = None
    """The named tuple of a result that has several parts."""
    carried: ClassVar[tuple[int, ...]] = ()
    """Input columns in which a null is a value. A null in another column skips the row."""
    time_columns: ClassVar[tuple[int, ...]] = ()
    """Input columns of times. Compiled functions get timestamps as nanoseconds since 1970."""
    lifts_booleans: ClassVar[bool] = False
    """Whether compiled functions distinguish booleans from 0 and 1."""
    by_ranks: ClassVar[bool] = False
    """Whether results over ranges of rows come from the ranks of values (:mod:`sash.kernels.order_statistics`)."""
    _options: ClassVar[tuple[str, ...]] = ()
    """The names of the constructor's keyword arguments, which are attributes too."""
    _lifts_rows: ClassVar[bool] = True
    """Whether ``_lift`` of several columns takes one tuple instead of several arguments."""
    where: str | None = None
    """The boolean column that says which rows are aggregated; None: all."""
    empty: Any = None
    """The result of a window without values."""
    identity: ClassVar[None] = None
    """The partial of a window without values: neutral under ``combine``."""
    kind: Kind = Kind.DISTRIBUTIVE
    commutative: bool = False
    selective: bool = False
    releases_gil: bool = False
    """Whether ``combine`` lets other threads run, so that PBA gains from a second one."""

    _lift: Callable[[Any], Any] = staticmethod(same)
    _combine: Callable[[Any, Any], Any]
    _combine_clean: Callable[[Any, Any], Any] | None = None
    """``_combine`` for columns without NaN, if that is faster."""
    _lower: Callable[[Any], Any] = staticmethod(same)
    _invert: Callable[[Any, Any], Any] | None = None

    def __init__(self, *columns: str, where: str | None = None) -> None:
        if any(not isinstance(column, str) for column in columns):
            raise TypeError(f"{self.name} takes column names, which are strings; got {columns!r}")
        if columns and len(columns) != self.arity:
            raise TypeError(
                f"{self.name} reads {self.arity} column{'s' * (self.arity != 1)}; got {len(columns)}: {columns!r}"
            )
        self.inputs = columns
        """The columns of the values that it aggregates."""
        self.where = where
        self.columns = columns
        """All columns that it reads."""
        if where is not None:
            if not isinstance(where, str):
                raise TypeError(f"where must be the name of a boolean column; got {where!r}")
            self.columns = (*columns, where)
            self.lift = partial(_lift_where, self)  # type: ignore[method-assign]  # so no row pays that has no filter

    @property
    def unfiltered(self) -> Self:
        """The same without ``where``."""
        if self.where is None:
            return self
        bare = copy.copy(self)
        del bare.lift
        bare.where, bare.columns = None, self.inputs
        return bare

    @property
    def name(self) -> str:
        """Its name in messages and plans."""
        return type(self).__name__

    @property
    def takes_ticks(self) -> bool:
        """Whether it accepts timestamps and durations as integers: it only compares, chooses or counts values."""
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
        except Exception as error:  # a user's functions may raise anything
            sentence = f"{self!r} cannot aggregate {value!r} of type {type(value).__name__}: {_cause(error)}"
            raise (TypeError(sentence) if isinstance(error, ArithmeticError) else renamed(error, sentence)) from error

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

    def complain_of_combine(self, a: Any, b: Any, error: Exception) -> None:
        """Raise the error of combining two partials as one that names the aggregation, if it happens again."""
        try:
            self.combine(a, b)
        except Exception:
            raise renamed(error, f"{self!r} cannot combine {a!r} with {b!r}: {_cause(error)}") from error

    def complain_of_lower(self, partial: Any, error: Exception) -> None:
        """Raise the error of lowering a partial as one that names the aggregation, if it happens again."""
        try:
            self.lower(partial)
        except Exception:
            raise renamed(error, f"{self!r} cannot lower {partial!r}: {_cause(error)}") from error

    def invert(self, total: Any, oldest: Any) -> Any:
        """``total`` without its ``oldest`` part: ``invert(a ⊕ b, a) == b`` unless ``b`` is empty."""
        if self._invert is None:
            raise TypeError(f"{self!r} is not invertible")
        return total if oldest is None else self._invert(total, oldest)

    def columnar(self, kind: str, clean: bool) -> Functions:
        """The functions to compile for a column of a NumPy ``kind`` ("i", "u", "f"), ``clean`` if without NaN."""
        combine = self._combine_clean if clean and self._combine_clean else self._combine
        return Functions(self._lift, combine, self._lower)

    def full(self, kind: str) -> Full | None:
        """Faster functions for columns whose windows are all full; None if there are none."""
        return None

    def full_as_sliced(self, kind: str) -> Full | None:
        """Faster functions with the digits of :meth:`sliced`, where all windows are full; None if there are none."""
        return None

    def sliced(self, kind: str) -> Sliced:
        """The functions to compile for slices of a column of a NumPy ``kind``."""
        functions = self.columnar(kind, clean=False)
        if (functions.lift, functions.combine) != (self._lift, self._combine):
            functions = Functions(self._lift, self._combine, self._lower)
        return Sliced(functions)

    def sliced_with_nulls(self, kind: str) -> Sliced:
        """As :meth:`sliced`, for ``carried`` columns with nulls: ``lift`` gets for each whether it is null."""
        raise TypeError(f"{self!r} carries no nulls")

    def flat(self) -> Flat | None:
        """Its partials as rows of an array, for PBA's second thread; None if they cannot be."""
        return None

    def _arguments(self) -> dict[str, Any]:
        """The constructor's keyword arguments. With the columns they identify an instance of a class."""
        return {name: getattr(self, name) for name in self._options} | self._filter()

    def _filter(self) -> dict[str, str]:
        return {} if self.where is None else {"where": self.where}

    def __repr__(self) -> str:
        arguments = [repr(column) for column in self.inputs]
        arguments += [f"{name}={value!r}" for name, value in self._arguments().items()]
        return f"{self.name}({', '.join(arguments)})"

    def _key(self) -> tuple[Any, ...]:
        return (type(self), self.columns, *self._arguments().items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aggregation) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _lift_where(aggregation: Aggregation, value: Any) -> Any:
    """``lift`` of an aggregation with a filter, whose value comes last in the tuple, or alone."""
    *values, flag = value if len(aggregation.columns) > 1 else (value,)
    if flag is not None and not isinstance(flag, bool | np.bool_):
        raise TypeError(
            f"{aggregation!r} cannot filter by column {aggregation.where!r}: where= takes booleans; got {flag!r} of "
            f"type {type(flag).__name__}"
        )
    return type(aggregation).lift(aggregation, values[0] if len(values) == 1 else values or None) if flag else None


def combined(aggregation: Aggregation, a: Any, b: Any) -> Any:
    """``combine``, whose errors name the aggregation."""
    try:
        return aggregation.combine(a, b)
    except Exception as error:
        aggregation.complain_of_combine(a, b, error)
        raise


def lowered(aggregation: Aggregation, partial: Any) -> Any:
    """``lower``, whose errors name the aggregation."""
    try:
        return aggregation.lower(partial)
    except Exception as error:
        aggregation.complain_of_lower(partial, error)
        raise
