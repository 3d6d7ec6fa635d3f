"""The throughput experiments of the PBA paper that run in one process, and what it says of Flink.

Rows are measured one by one, as the paper's algorithms take them, on two rungs: in Python, and compiled, where merges
cost what they did in the paper and PBA's second thread runs beside the first. "columns" are Sash's kernels over the
same values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import sash
from sash_experiments.compiled import rung
from sash_experiments.contenders import RECALC_MOST, over_slices, over_values, slices_of, uniform_values
from sash_experiments.experiment import Experiment, scales
from sash_experiments.generators import debs12, load_debs12
from sash_experiments.generators.debs import HERTZ
from sash_experiments.raw import Measured
from sash_experiments.timing import mean_seconds, per_second

__all__ = ["EXPERIMENTS"]

ROWS = ("Recalc", "TwoStacks", "SlickDeque", "DABA", "SBA", "PBA")
COLUMNS = {"SBA columns": "sba", "PBA columns": "pba"}
VALUES_S = "values/s"


def _stream(count: int, data_dir: Path | None) -> dict[str, Any]:
    """Readings of DEBS12: the original ones, if there is a folder with them, again and again if they are too few."""
    if data_dir is None:
        return debs12(count)
    found = load_debs12(data_dir / "allData.txt", count)
    if not len(found["ts"]):
        raise ValueError(f"{data_dir / 'allData.txt'} holds no readings")
    times = found["ts"][0] + np.arange(count) * np.timedelta64(10**6 // HERTZ, "us")
    return {name: np.resize(column, count) for name, column in found.items()} | {"ts": times}


def _data(name: str, count: int, data_dir: Path | None) -> list[float]:
    if name == "uniform":
        return uniform_values(count)
    column: list[float] = _stream(count, data_dir)["mf02"].tolist()
    return column


def fig4(
    rounds: int, exponents: list[int], slides: int, budget: float, columns: int, data_dir: Path | None = None
) -> Iterator[Measured]:
    """Throughput by range at slide 1, on both data sets."""
    for data in ("DEBS12", "uniform"):
        values = _data(data, max(2 ** max(exponents), columns), data_dir)
        source = np.array(values)
        array = source[:columns]
        for n in (2**exponent for exponent in exponents):
            for number in range(rounds):
                for name, make in over_values(ROWS, sash.Max(), n, values[:n]):
                    seconds = mean_seconds(make(), values[: 2**16], slides, budget)
                    yield Measured(data, str(n), name, number, VALUES_S, 1 / seconds)
                yield from _compiled(data, str(n), number, source, n, 1, budget)
                yield from _columns(data, str(n), number, array, n, 1, budget)


def _compiled(panel: str, x: str, number: int, source: Any, size: int, slide: int, budget: float) -> Iterator[Measured]:
    """The compiled rung. Its source is longer than what a processor learns to foresee the branches of."""
    names = ROWS if size // slide <= RECALC_MOST else ROWS[1:]
    windows = rung.over(names, sash.Max(), size, source, slide)
    yield from rung.throughputs(panel, x, number, windows, source, budget, VALUES_S)


def _columns(panel: str, x: str, number: int, array: Any, n: int, slide: int, budget: float) -> Iterator[Measured]:
    for name, algorithm in COLUMNS.items():
        window = sash.Rolling(sash.Max(), n, slide, algorithm=algorithm)

        def push(window: sash.Rolling = window) -> int:
            window.push(array)
            return len(array)

        yield Measured(panel, x, name, number, VALUES_S, per_second(push, budget))


def fig5(
    rounds: int,
    range_: int,
    by: list[int],
    slides: int,
    budget: float,
    columns: int,
    data_dir: Path | None = None,
) -> Iterator[Measured]:
    """Throughput by slide at one range: values are first merged into slices, by all alike."""
    values = _data("DEBS12", max(range_, columns), data_dir)
    source = np.array(values)
    array = source[:columns]
    for slide in by:
        for number in range(rounds):
            yield from _by_slices("DEBS12", str(slide), number, values[:range_], slide, slides, budget)
            yield from _compiled("DEBS12", str(slide), number, source, range_, slide, budget)
            yield from _columns("DEBS12", str(slide), number, array, range_, slide, budget)


def _by_slices(
    panel: str, x: str, number: int, values: list[float], slide: int, slides: int, budget: float
) -> Iterator[Measured]:
    peak = sash.Max()
    lift, combine = peak.lift, peak.combine
    batches = [values[start : start + slide] for start in range(0, len(values) - slide + 1, slide)]
    for name, make in over_slices(ROWS, peak, slices_of(peak, values, slide)):
        move = make()

        def sliced(batch: list[float], move: Any = move) -> None:
            move(reduce(combine, map(lift, batch)))

        seconds = mean_seconds(sliced, batches, slides, budget)
        yield Measured(panel, x, name, number, VALUES_S, slide / seconds)


def fig6(
    rounds: int,
    ranges: list[float],
    slides_ms: list[int],
    hours: float,
    slides: int,
    budget: float,
    columns: int,
    data_dir: Path | None = None,
) -> Iterator[Measured]:
    """Throughput of windows on time: by range in minutes at 10 ms, and by slide in milliseconds at a long range.

    At 100 readings a second a slide of 10 ms has one, of 100 ms ten.
    """
    longest = int(max(*ranges, hours * 60) * 60 * 100)
    values = _data("DEBS12", max(longest, columns), data_dir)
    source = np.array(values)
    stream = {name: column[:columns] for name, column in _stream(columns, data_dir).items() if name in ("ts", "mf02")}
    cases = [("range, minutes (slide 10 ms)", f"{minutes:g}", int(minutes * 6000), 1) for minutes in ranges]
    cases += [("slide, ms (longest range)", str(ms), int(hours * 360_000), ms // 10) for ms in slides_ms]
    for panel, x, size, slide in cases:
        query = sash.Query(
            windows=sash.sliding(f"{size * 10}ms", f"{slide * 10}ms"), aggregates={"peak": sash.Max("mf02")}, time="ts"
        )
        for number in range(rounds):
            yield from _by_slices(panel, x, number, values[:size], slide, slides, budget)
            yield from _compiled(panel, x, number, source, size, slide, budget)

            def run(query: sash.Query = query) -> int:
                sash.run(query, stream)
                return columns

            yield Measured(panel, x, "sash.run", number, VALUES_S, per_second(run, budget))


PYTHON = "In Python, one thread runs at a time: PBA's second thread can help where rows or columns are compiled only."

EXPERIMENTS = [
    Experiment(
        "pba-fig4",
        "Throughput by window size",
        "Max over windows of 2^3 to 2^20 values at slide 1, on DEBS12 and on uniform values; values a second.",
        scales(
            rounds=(1, 2, 20),
            exponents=([3, 6], [3, 5, 7, 9, 11, 13, 15, 17, 20], list(range(3, 21))),
            slides=(128, 200_000, 200_000_000),
            budget=(0.02, 0.2, 600),
            columns=(2000, 1_000_000, 20_000_000),
        ),
        fig4,
        gap=PYTHON,
    ),
    Experiment(
        "pba-fig5",
        "Throughput by slide",
        "Max over windows of 2^17 values at slides 1 to 10, on DEBS12; values a second.",
        scales(
            rounds=(1, 2, 20),
            range_=(64, 2**17, 2**17),
            by=([1, 3], list(range(1, 11)), list(range(1, 11))),
            slides=(128, 200_000, 130_000_000),
            budget=(0.02, 0.2, 600),
            columns=(2000, 1_000_000, 20_000_000),
        ),
        fig5,
        x="slide",
        x_log=False,
        gap=PYTHON,
    ),
    Experiment(
        "pba-fig6",
        "Throughput of windows on time",
        "Max over windows of 6 to 60 min at a slide of 10 ms, and of 1 h at slides of 10 to 100 ms, on DEBS12, 100 "
        "readings a second; values a second. sash.run takes the times themselves, the others ready slices.",
        scales(
            rounds=(1, 2, 20),
            ranges=([0.01, 0.02], [6, 18, 30, 42, 60], list(range(6, 61, 6))),
            slides_ms=([10, 30], [10, 30, 50, 70, 100], list(range(10, 101, 10))),
            hours=(0.001, 1, 1),
            slides=(128, 200_000, 130_000_000),
            budget=(0.02, 0.2, 600),
            columns=(2000, 1_000_000, 20_000_000),
        ),
        fig6,
        x="range or slide",
        x_log=False,
        gap=PYTHON,
    ),
    Experiment(
        "pba-fig7",
        "Latency in time",
        "The slowest slides of the runs of pba-tab2 (Max) and pba-tab3 (a moment sketch), as they came: spikes are "
        "where an algorithm turns a stack over, or computes lcs on the main thread.",
        drawn_from=("pba-tab2", "pba-tab3"),
        x="slides",
        x_log=False,
        gap=PYTHON,
    ),
    Experiment(
        "pba-fig8",
        "Flink's own windows and PBA in Flink, Spark's own and ours, by parallelism and by workers",
        "Max, and the partials of a moment sketch, over windows of 2^10 values at slide 1, smart plugs; rows a second "
        "of each engine's own windows and of Sash's, on one machine by parallelism, and on a cluster of containers by "
        "workers. FPBA has lcs on a second thread, record by record as in the paper or packed; SBA has one thread.",
        bench="make scalability",
        bench_file="scalability.csv",
        bench_smoke=("--smoke", "--where", "local"),
        x="parallelism or workers",
        x_log=False,
        gap="The paper has 6 cores, and a cluster of 6 workers of 4 cores each. Here all tasks and containers share "
        "the machine's few cores: that throughput grows beyond them cannot be shown, and is not extrapolated.",
    ),
]
