"""The source of the kernels of slices: :mod:`sash.kernels.ranges.kernels` filled in for one shape of partials.

What `lift` and `combine` return is cast to the partial's numbers, so that a whole number that one branch of a user's
function returns where another returns a float is a float too.
"""

from __future__ import annotations

from typing import Any

import numba

from sash.kernels.codegen.shape import leaves, real
from sash.kernels.ranges.kernels import KERNELS, RANGES

__all__ = ["slicing_source"]

types: Any = numba.core.types

# {load_P_s} is the real partial at s of P, {pair_P_s} with its flag; {store_P_s_f} and {save_P_s_f} put f there.
_LIFTS = {"a_0", "a_k", "b_0", "b_k", "c_0", "c_k", "d_0", "d_k", "x_0", "x_k", "X_k"}
_PAIRS = {
    "P_i": "i", "P_j": "j", "L_i": "i", "C_i": "i", "C_whole": "whole",
    "C_before": "(i - ONE) & (mask + mask + ONE)",
}  # fmt: skip
_SAVES = {"L_j_g": "j & mask", "C_i_f": "i & (mask + mask + ONE)"}


def _cast(kind: Any, value: str) -> str:
    """An expression for ``value`` with numbers of just the types in ``kind``."""
    if isinstance(kind, types.BaseTuple):
        return "(" + "".join(_cast(part, f"{value}[{i}]") + ", " for i, part in enumerate(kind)) + ")"
    return f"bool({value})" if isinstance(kind, types.Boolean) else f"np.{kind.name}({value})"


def _load(kind: Any, arrays: str, position: str, first: int) -> str:
    """An expression for what arrays, from the ``first`` on, hold at a position."""
    numbers = iter(range(first, first + len(list(leaves(kind)))))

    def expression(part: Any) -> str:
        if isinstance(part, types.BaseTuple):
            return "(" + "".join(expression(each) + ", " for each in part) + ")"
        return f"{arrays}[{next(numbers)}][{position}]"

    return expression(kind)


def _store(kind: Any, arrays: str, position: str, name: str, first: int) -> str:
    """A statement that puts ``name`` there."""
    return "; ".join(f"{arrays}[{i}][{position}] = {name}{path}" for i, (path, _) in enumerate(leaves(kind), first))


def _emit(result: Any, flagged: bool) -> str:
    """Put the result of a partial into its arrays; the identity, or a result None, is a null."""
    lines = ["if not r[0]:", "    null[o] = True", "    return", "y = lower_given(r[1])"]
    if not flagged:
        lines = ["y = lower_given(r)"]
    if isinstance(result, types.Optional):
        lines += ["if y is None:", "    null[o] = True", "    return"]
    return "\n    ".join([*lines, _store(real(result), "out", "o", "y", 0)])


def _ranges(partial: Any, result: Any, cache: str, flagged: bool) -> str:
    """The kernels of ranges, of slices with flags beside them, or without: all have values."""
    kind = types.Tuple([types.boolean, partial]) if flagged else partial
    first = 0 if flagged else 1
    parts = {"cache": cache, "emit": _emit(result, flagged)}
    parts |= {"merge": "merged", "real": ""} if flagged else {"merge": "combine", "real": "_real"}
    parts |= {f"pair_{name}": _load(kind, name[0], at, first) for name, at in _PAIRS.items()}
    parts |= {f"save_{name}": _store(kind, name[0], at, name[-1], first) for name, at in _SAVES.items()}
    return RANGES.format(**parts)


def _view(arrays: str, count: int, part: str) -> str:
    return "(" + "".join(f"{arrays}[{i}][{part}], " for i in range(count)) + ")"


def slicing_source(size: int, paired: bool, partial: Any, result: Any, cache: bool) -> str:
    """The source for so many input columns; `lift_given` and so on are names of its module.

    ``paired``: lift takes the values of a row as one tuple.
    """
    flagged = types.Tuple([types.boolean, partial])
    names = ", ".join(f"x{i}" for i in range(size))
    parts = {
        "cache": ", cache=True" if cache else "",
        "names": names,
        "given": f"({names})" if paired else names,
        "cast": _cast(partial, "y"),
        "X_segment": _view("X", size, "begin:end"),
        "X_parts": ", ".join(_view("x", size, f"{i} * part : {i + 1} * part") for i in range(4)),
        "load_P_s": _load(partial, "P", "s", 1),
        "store_P_s_f": _store(partial, "P", "s", "f", 1),
        "store_P_i_f": _store(partial, "P", "i", "f", 1),
    }
    for name in _LIFTS:
        arrays, position = name.split("_")
        parts[f"lift_{name}"] = "lift(" + ", ".join(f"{arrays}[{i}][{position}]" for i in range(size)) + ")"
    parts["pair_A_k"], parts["pair_B_k"] = (_load(flagged, arrays, "k", 0) for arrays in "AB")
    parts["save_P_k_f"] = _store(flagged, "P", "k", "f", 0)
    return KERNELS.format(**parts) + "".join(_ranges(partial, result, parts["cache"], each) for each in (True, False))
