"""The kernels' source: :mod:`sash.kernels.template` filled in for one shape of partials and results.

A partial is a number or a tuple of numbers, nested perhaps; it is kept in one array a number. Numba wants each array
named where it is used, so what stands for "the partial at position k of the arrays A" is written out for each shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba

from sash.kernels.template import KERNELS, MASKED

__all__ = ["leaves", "real", "rolling_source"]

types: Any = numba.core.types

# {load_A_q} is the partial at q of A, {store_B_k} puts g at k of B, {xs_part} is a view of all input columns.
_LIFTS = {
    "0": "0", "j": "j", "k": "k", "last": "n - 1", "b": "b", "b_j": "b + j", "b_k": "b + k", "b_last": "b + last",
}  # fmt: skip
_LOADS = {
    "A_one": "ONE", "A_j_one": "j + ONE", "A_q": "q", "a_k": "k", "B_j": "j", "B_last": "n - 1", "C_0": "0", "C_1": "1",
}  # fmt: skip
_STORES = {
    "B_j": ("j", "g"), "B_k": ("k", "g"), "B_0": ("0", "g"), "B_last": ("n - 1", "g"), "b_k": ("k", "p"),
    "B_zero": ("ZERO", "g"), "B_ulast": ("last", "g"),
    "B_qw": ("q", "w"), "C_0": ("0", "f"), "C_1w": ("1", "w"),
}  # fmt: skip
_VIEWS = {
    "xs_part": "i:stop", "xs_slice": "i : i + s", "xs_next_slice": "i + s : i + 2 * s", "xs_begin_end": "begin:end",
    "out_part": "o : o + stop - i", "A_part": "q + 1 :", "B_part": "q:",
}  # fmt: skip


def leaves(kind: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(how to get it, its type) of each number in a partial or result of the given type."""
    if isinstance(kind, types.BaseTuple):
        for i, part in enumerate(kind):
            yield from leaves(part, f"{path}[{i}]")
    else:
        yield path, kind


def real(result: Any) -> Any:
    """The type of a result that is not None."""
    return result.type if isinstance(result, types.Optional) else result


def _load(kind: Any, arrays: str, position: str) -> str:
    """An expression for the partial that arrays hold at a position."""
    numbers = iter(range(len(list(leaves(kind)))))

    def expression(part: Any) -> str:
        if isinstance(part, types.BaseTuple):
            return "(" + "".join(expression(each) + ", " for each in part) + ")"
        return f"{arrays}[{next(numbers)}][{position}]"

    return expression(kind)


def _store(kind: Any, arrays: str, position: str, name: str) -> str:
    """A statement that puts the partial ``name`` there."""
    return "; ".join(f"{arrays}[{i}][{position}] = {name}{path}" for i, (path, _) in enumerate(leaves(kind)))


def _emit(result: Any, masked: bool) -> str:
    """Put the result of a partial into its arrays; no valid value, or a result None, is a null."""
    lines = ["y = lower(r[1])" if masked else "y = lower(r)"]
    nulls = ["not r[0]"] * masked + ["y is None"] * isinstance(result, types.Optional)
    if nulls:
        lines += [f"if {' or '.join(nulls)}:", "    null[o] = True", "    return"]
    return "\n    ".join([*lines, _store(real(result), "out", "o", "y")])


def _row(arrays: str, columns: int, position: str) -> str:
    return "lift(" + ", ".join(f"{arrays}[{i}][{position}]" for i in range(columns)) + ")"


def rolling_source(columns: int, partial: Any, result: Any, masked: bool, cache: bool) -> str:
    """The source of the rolling kernels; `lift`, `combine` and `lower` are names of its module.

    ``masked`` adds a last input column that says which rows are null, and to each partial whether it has any value.
    """
    parts = {f"lift_{name}": _row("X", columns, position) for name, position in _LIFTS.items()}
    parts |= {f"lift_V_{name}": _row("V", columns, position) for name, position in _LIFTS.items()}
    parts |= {f"load_{name}": _load(partial, name[0], position) for name, position in _LOADS.items()}
    parts |= {f"store_{name}": _store(partial, name[0], *where) for name, where in _STORES.items()}
    numbers = len(list(leaves(partial)))
    counts = {"xs": columns, "out": len(list(leaves(real(result)))), "A": numbers, "B": numbers}
    for name, view in _VIEWS.items():
        arrays = name.split("_")[0]
        parts[name] = "(" + "".join(f"{arrays}[{i}][{view}], " for i in range(counts[arrays])) + ")"
    cached = ", cache=True" if cache else ""
    names = ", ".join(f"x{i}" for i in range(columns - 1))
    wrapped = MASKED.format(cache=cached, names=names) if masked else ""
    return wrapped + KERNELS.format(emit=_emit(result, masked), cache=cached, **parts)
