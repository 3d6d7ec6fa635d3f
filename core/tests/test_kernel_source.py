"""The text of kernels, filled in for a shape of partials."""

from __future__ import annotations

import pytest

from sash.kernels.source import Shape, cast, with_flag

PAIR = ("int64", "float64")


@pytest.mark.parametrize(("text", "filled"), [
    ("{load A[k]}", "(A[0][k], A[1][k], )"),
    ("{store B[j + ONE] = g}", "B[0][j + ONE] = g[0]; B[1][j + ONE] = g[1]"),
    ("{put V[t] = y}", "V[0][t] = y"),
    ("{lift X[k] from origin}", "lift(X[0][k])"),
    ("{spoils X[k]}", "X[0][k] != X[0][k]"),
    ("{inputs xs[i:stop]}", "(xs[0][i:stop], )"),
    ("{partials A[q + 1 :]}", "(A[0][q + 1 :], A[1][q + 1 :], )"),
    ("{results out[o : o + many]}", "(out[0][o : o + many], )"),
    ("{copy_inputs r[k] = X[k]}", "r[0][k] = X[0][k]"),
    ("{empty B[4096]}", "(np.empty(4096, B[0].dtype), np.empty(4096, B[1].dtype), )"),
    ("if {spoils X[b]}: {part}", "if X[0][b] != X[0][b]: f = (A[0][0], A[1][0], )"),
])  # fmt: skip
def test_expressions(text: str, filled: str) -> None:
    shape = Shape(1, PAIR, "float64", flagged=False, watched=True)
    assert shape.fill(text, part="f = {load A[0]}") == filled


def test_flags_and_functions_for_full_windows() -> None:
    flagged = Shape(2, with_flag(PAIR), "float64", flagged=True, nullable=True)
    assert flagged.fill("{load P[i]}") == "(P[0][i], (P[1][i], P[2][i], ), )"
    assert flagged.emit().splitlines()[0] == "if not r[0]:" and "y is None" in flagged.emit()
    beside = Shape(2, PAIR, "float64", flagged=False, first=1)
    assert beside.fill("{load P[i]}") == "(P[1][i], P[2][i], )"
    full = Shape(1, "float64", "float64", flagged=False, full=True)
    assert full.fill("{lift X[0] from final} {spoils X[0]}") == "lift(X[0][0], final) False"
    assert full.emit() == "y = lower(r, n)\n    out[0][o] = y"


def test_casts() -> None:
    assert cast(("bool", PAIR), "y") == "(bool(y[0]), (np.int64(y[1][0]), np.float64(y[1][1]), ), )"
