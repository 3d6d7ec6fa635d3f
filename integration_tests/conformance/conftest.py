"""The option that chooses runtimes, and a test for each case and runtime."""

from __future__ import annotations

import pytest

from .cases import CASES
from .runtimes import RUNTIMES


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--runtimes", default=",".join(RUNTIMES), help=f"of {', '.join(RUNTIMES)}; all by default")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "runtime" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("--runtimes", default=",".join(RUNTIMES)).split(",")
    if unknown := set(chosen) - set(RUNTIMES):
        raise pytest.UsageError(f"--runtimes: there is no {sorted(unknown)}; there are {', '.join(RUNTIMES)}")
    params = []
    for name in chosen:
        for case in CASES:
            gap = RUNTIMES[name].gaps.get(case.name)
            marks = [pytest.mark.xfail(reason=gap, strict=True)] if gap else []
            if RUNTIMES[name].engine:
                marks += [pytest.mark.engine, pytest.mark.xdist_group(RUNTIMES[name].engine)]
            params.append(pytest.param(RUNTIMES[name], case, id=f"{name}-{case.name}", marks=marks))
    metafunc.parametrize(("runtime", "case"), params)
