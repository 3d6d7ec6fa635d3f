"""The kernels' source: :mod:`sash.kernels.rolling.kernels` filled in for one shape of partials and results.

A partial is a number or a tuple of numbers, nested perhaps; it is kept in one array a number. Numba wants each array
named where it is used, so what stands for "the partial at position k of the arrays A" is written out for each shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numba

from sash.kernels.rolling.kernels import FULL_WALK, KERNELS, MASKED, WALK
from sash.kernels.rolling.kernels_more import AS_ONE, GROUPS, SLICES

__all__ = ["Shape", "leaves", "real"]

types: Any = numba.core.types

# {lift_b_j} lifts the row at b + j of X, {load_A_q} is the partial at q of A, {store_B_k} puts g at k of B, {spoils_k}
# tells whether the value at k is none for these functions, {xs_part} is a view of all input columns.
_FORWARD = {"0": "0", "k": "k", "b": "b", "b_j": "b + j"}
_BACKWARD = {"j": "j", "last": "n - 1", "b_k": "b + k", "b_last": "b + last", "back_b": "b"}
_LOADS = {
    "A_0": "0", "A_one": "ONE", "A_j_one": "j + ONE", "A_q": "q", "a_k": "k", "B_j": "j", "B_last": "n - 1",
    "C_0": "0", "C_1": "1", "W_k": "k", "P_k": "k", "T_t": "t",
}  # fmt: skip
_STORES = {
    "B_j": ("j", "g"), "B_k": ("k", "g"), "B_last": ("n - 1", "g"), "B_zero": ("ZERO", "g"), "B_ulast": ("last", "g"),
    "B_qw": ("q", "w"), "C_0": ("0", "f"), "C_1w": ("1", "w"), "W_c": ("c", "w"), "P_c": ("c", "w"),
    "T_t": ("t", "w"),
}  # fmt: skip
_SPOILS = ["k", "b", "b_j", "b_last"]
_VIEWS = {
    "xs_part": "i:stop", "xs_group": "begin:end", "out_part": "o : o + stop - i", "A_part": "q + 1 :", "A_at": "q:",
    "B_part": "q:", "R_part": "q:", "R_chunk": ":n", "Y_block": "b + begin : b + end", "out_many": "o : o + many",
    "found_many": "begin - row :",
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


def _emit(result: Any, masked: bool, count: str = "") -> str:
    """Put the result of a partial into its arrays; no valid value, or a result None, is a null."""
    lines = ["y = lower(r[1])" if masked else f"y = lower(r{count})"]
    nulls = ["not r[0]"] * masked + ["y is None"] * isinstance(result, types.Optional)
    if nulls:
        lines += [f"if {' or '.join(nulls)}:", "    null[o] = True", "    return"]
    return "\n    ".join([*lines, _store(real(result), "out", "o", "y")])


def _row(arrays: str, columns: int, position: str, origin: str = "") -> str:
    return "lift(" + ", ".join(f"{arrays}[{i}][{position}]" for i in range(columns)) + origin + ")"


@dataclass(frozen=True)
class Shape:
    """What the kernels' text depends on. `lift`, `combine` and `lower` are names of its module."""

    columns: int
    """Input columns, that of nulls included."""
    partial: Any
    result: Any
    masked: bool
    """Whether a last input column says which rows are null, and each partial whether it has any value."""
    full: bool
    """Whether the functions are those of :class:`sash.aggregations.base.Full`."""
    watched: bool
    """Whether NaN spoils them."""
    cached: bool

    def source(self) -> str:
        """The text of the kernels."""
        cache = ", cache=True" if self.cached else ""
        names = ", ".join(f"x{i}" for i in range(self.columns - 1))
        text = MASKED.format(cache=cache, names=names) if self.masked else ""
        parts = self._parts() | {"cache": cache, "emit": _emit(self.result, self.masked, ", n" if self.full else "")}
        parts["walk"] = (FULL_WALK if self.full else WALK).format(**parts).strip()
        text += KERNELS.format(**parts) + AS_ONE.format(**parts)
        rows = parts["xs_group"]
        calls = {"by_value": f"by_value({rows}, n, early, state, A, B, C, R, out, null, o)"}
        if not self.full:
            text += SLICES.format(**parts)
            calls["by_slice"] = f"by_slice({rows}, n, s, m, early, state, A, B, C, out, null, o)"
        return text + "".join(GROUPS.format(by=by, call=call, **parts) for by, call in calls.items())

    def _parts(self) -> dict[str, str]:
        columns, partial = self.columns, self.partial
        origin, final = (", origin", ", final") if self.full else ("", "")
        parts = {f"lift_{name}": _row("X", columns, place, origin) for name, place in _FORWARD.items()}
        parts |= {f"lift_{name}": _row("X", columns, place, final) for name, place in _BACKWARD.items()}
        parts |= {f"load_{name}": _load(partial, name[0], place) for name, place in _LOADS.items()}
        parts |= {f"store_{name}": _store(partial, name[0], *where) for name, where in _STORES.items()}
        parts["store_r_k"] = "; ".join(f"r[{i}][k] = X[{i}][k]" for i in range(columns))
        parts["store_V_t"] = _store(real(self.result), "V", "t", "y")
        places = _FORWARD | _BACKWARD
        for name in _SPOILS:
            value = f"X[0][{places[name]}]"
            parts[f"spoils_{name}"] = f"{value} != {value}" if self.watched else "False"
        parts["watched"] = "X[0].shape[0]" if self.watched else "0"
        numbers, results = len(list(leaves(partial))), len(list(leaves(real(self.result))))
        rooms = {
            size: "".join(f"np.empty({size}, B[{i}].dtype), " for i in range(numbers)) for size in ("BLOCK", "4096")
        }
        parts["scratch"] = f"T = ({rooms['BLOCK']})" if self.full else ""
        parts["P_room"] = f"({rooms['4096']})"
        parts["store_Y_k"] = "; ".join(f"Y[{i}][k] = F[{i}][k]" for i in range(results))
        counts = {
            "xs": columns,
            "R": columns,
            "A": numbers,
            "B": numbers,
            "out": results,
            "Y": results,
            "found": results,
        }
        for name, view in _VIEWS.items():
            arrays = name.split("_")[0]
            parts[name] = "(" + "".join(f"{arrays}[{i}][{view}], " for i in range(counts[arrays])) + ")"
        return parts
