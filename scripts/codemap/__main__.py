"""Print the map: the folders in layers with what each imports, sizes, and figures beside their limits."""

from __future__ import annotations

import argparse
import sys

from codemap.counts import modules
from codemap.layers import CORE, LAYERS, graph, imports
from codemap.limits import LIMITS, Limit

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Print the map or check it; 1 if a limit that is to be held is exceeded."""
    parser = argparse.ArgumentParser(prog="scripts/map", description=__doc__)
    parser.add_argument("--check", action="store_true", help="check enforced limits, and ceilings of the others")
    parser.add_argument("--all", action="store_true", help="with --check: check all limits, enforced or not")
    parser.add_argument("--layers", action="store_true", help="check nothing but the layers")
    parser.add_argument("--files", action="store_true", help="print the places and files behind the figures")
    options = parser.parse_args(arguments)
    if options.layers:
        return _check([(limit, limit.most) for limit in LIMITS[:1]])
    if options.check:
        bounds = ((limit, limit.most if options.all else limit.bound) for limit in LIMITS)
        return _check([(limit, bound) for limit, bound in bounds if bound is not None])
    _print_graph()
    for limit in LIMITS:
        _print(limit, options.files)
    return 0


def _check(bounds: list[tuple[Limit, int]]) -> int:
    over = [limit for limit, bound in bounds if _size(limit.figure()) > bound]
    for limit in over:
        _print(limit, places=True)
    return 1 if over else 0


def _print_graph() -> None:
    """A line a folder of the core, from the bottom up, and one for each other part of the repository."""
    targets = graph(imports())
    core = [f"sash.{layer}" for layer in LAYERS if (CORE / layer).is_dir()]
    for folder in [*core, *sorted(set(targets) - set(core))]:
        inside = len(modules(CORE / folder.partition(".")[2])) if folder in core else 0
        size = f"{inside:4} modules" if inside else " " * 12
        names = (f"{target.removeprefix('sash.')} {count}" for target, count in sorted(targets.get(folder, {}).items()))
        print(f"{folder:22}{size}  → {', '.join(names) or 'nothing'}")
    print()


def _print(limit: Limit, places: bool) -> None:
    figure = limit.figure()
    size = _size(figure)
    held = "enforced" if limit.enforced else "" if limit.ceiling is None else f"no more than {limit.ceiling:,} enforced"
    print(f"{limit.name:48}{size:8,} of {limit.most:6,}  {'ok' if size <= limit.most else 'over':5}{held}".rstrip())
    if places and isinstance(figure, list):
        print(*(f"    {place}" for place in figure), sep="\n")


def _size(figure: int | list[str]) -> int:
    return figure if isinstance(figure, int) else len(figure)


if __name__ == "__main__":
    sys.exit(main())
