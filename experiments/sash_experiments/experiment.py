"""What an experiment is: a declared workload of a paper, sizes at three scales, and what measures it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sash_experiments.raw import Measured

__all__ = ["PAPERS", "SCALES", "Experiment", "Scale", "Sizes", "scales"]

Scale = Literal["smoke", "small", "paper"]
SCALES: tuple[Scale, ...] = ("smoke", "small", "paper")
"""In seconds, to see that it runs; in minutes on two cores; the original size, in hours or days."""
PAPERS = {
    "pba": "PBA: Parallel Boundary Aggregator",
    "daba": "DABA: Low-Latency Sliding-Window Aggregation in Worst-Case Constant Time",
    "slicing": "General Stream Slicing: Efficient Window Aggregation",
    "ra": "Reactive Aggregator: General Incremental Sliding-Window Aggregation",
    "mta": "MTA: Monoid Tree Aggregator",
}
Sizes = dict[str, Any]


def scales(**sizes: Sequence[Any]) -> dict[Scale, Sizes]:
    """Sizes by scale, from each size at all three.

    >>> scales(rounds=(1, 2, 20))
    {'smoke': {'rounds': 1}, 'small': {'rounds': 2}, 'paper': {'rounds': 20}}
    """
    return {scale: {name: each[place] for name, each in sizes.items()} for place, scale in enumerate(SCALES)}


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper."""

    name: str
    """Such as ``pba-fig4``: the paper, a dash, the figure or table."""
    title: str
    workload: str
    """In a sentence or two: data, windows, aggregations, what is measured."""
    sizes: dict[Scale, Sizes] = field(default_factory=dict)
    """What ``measure`` is given, by scale; empty: it is not measured here."""
    measure: Callable[..., Iterator[Measured]] | None = None
    bench: str | None = None
    """The benchmark whose raw results it is read from, if it has no measure of its own."""
    bench_file: str = ""
    bench_smoke: tuple[str, ...] = ()
    """The benchmark's options at the smallest scale."""
    drawn_from: tuple[str, ...] = ()
    """Experiments whose raw results hold it, if it is a figure of what they measure."""
    x: str = "window size"
    x_log: bool = True
    y_log: bool = True
    table: bool = False
    """Better read as a table than as a plot."""
    published: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The paper's own numbers: {row: {column: number or text}}."""
    published_unit: str = ""
    gap: str = ""
    """What it cannot show on one small machine, or why it is not run."""

    @property
    def paper(self) -> str:
        """The key of its paper."""
        return self.name.partition("-")[0]

    @property
    def bench_name(self) -> str:
        """What the benchmark is called by ``python -m sash_experiments bench``."""
        return self.bench_file.partition(".")[0]

    @property
    def command(self) -> str:
        """What reproduces it."""
        return self.bench or f"sash experiment run {self.name} --scale small"
