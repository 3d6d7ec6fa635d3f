"""How far a long call is: nothing runs in silence for more than a second where somebody is looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

__all__ = ["show_progress"]

T = TypeVar("T")
PATIENCE_S = 1.0
"""What takes less is not shown."""


def show_progress(
    steps: Iterator[T], what: str, total: int | None = None, size: Callable[[T], int] = lambda _: 1
) -> Iterator[T]:
    """Pass steps on, and show on a terminal or in a notebook how many of ``total`` units of ``what`` are done.

    A step is ``size`` units. With tqdm (the extra ``progress``) it is a bar of tqdm's; notebooks need it. Without it,
    a line on a terminal. Costs nothing where nobody is looking.

    >>> list(show_progress(iter("abc"), "letters", total=3))
    ['a', 'b', 'c']
    """
    notebook = _in_notebook()
    if not notebook and (sys.stderr is None or not sys.stderr.isatty()):
        return steps
    bar = _bar(what, total, notebook)
    if bar is not None:
        return _with_bar(steps, bar, size)
    return steps if notebook else _with_line(steps, what, total, size)


def _in_notebook() -> bool:
    """Whether output goes to a notebook's page. Asks IPython only if it is loaded."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


def _bar(what: str, total: int | None, notebook: bool) -> Any:
    """A bar of tqdm's; None: tqdm is not installed, or, in a notebook, ipywidgets is not."""
    try:
        if notebook:
            from tqdm.notebook import tqdm  # type: ignore[import-untyped]
        else:
            from tqdm import tqdm  # type: ignore[import-untyped]
        return tqdm(desc=f"sash: {what}", total=total, unit_scale=True, delay=PATIENCE_S, leave=False)
    except ImportError:
        return None


def _with_bar(steps: Iterator[T], bar: Any, size: Callable[[T], int]) -> Iterator[T]:
    with bar:
        for step in steps:
            bar.update(size(step))
            yield step


def _with_line(steps: Iterator[T], what: str, total: int | None, size: Callable[[T], int]) -> Iterator[T]:
    begin, done, shown = time.monotonic(), 0, False
    for step in steps:
        done += size(step)
        if time.monotonic() - begin > PATIENCE_S:
            share = f"{done:,} {what}" if total is None else f"{100 * done // total:3d} % of the {what}"
            print(f"\rsash: {share}", end="", file=sys.stderr, flush=True)
            shown = True
        yield step
    if shown:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
