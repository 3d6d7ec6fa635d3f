"""A day of a stream whose keys come and go: memory stays flat, and the state is as large as docs/sizing.md says.

python -m integration_tests.soak [--rows 100_000_000] [--keys 1_000_000] [--output soak.csv] [--docs]

keys   ▕██████████░░░░░░░░░░   each is active for a tenth of the day, then silent, and forgotten after a while
       ▕░░██████████░░░░░░░░
       ▕░░░░██████████░░░░░░
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

import sash
from sash.spi import KeyedOperator
from sash_experiments.tables import insert

RANGE_S, SLIDE_S, TTL_S, DAY_S = 600, 60, 1200, 86_400
ACTIVE = 0.1
"""The share of the keys, and of the day, for which a key is active."""
BYTES_A_SLICE = 8 * (1 + 1 + 6) + 24
"""As docs/sizing.md counts them: a maximum, a count, a mean, and the slice's own."""
FLAT, CLOSE = 1.1, 0.25
QUERY = sash.Query(
    key="key",
    windows=sash.sliding(RANGE_S, SLIDE_S, on="t"),
    aggregates={"peak": sash.Max("x"), "n": sash.Count(), "mean": sash.Mean("x")},
    time="t",
)
PAGE = Path(__file__).parents[1] / "docs" / "faults.md"


@dataclass(frozen=True)
class Sample:
    """What there is at a moment of the day."""

    hour: float
    rows: int
    results: int
    rss_mb: int
    slices: int
    slices_computed: int
    state_mb: float
    state_at_most_mb: float
    cpu_s: float


def batches(rows: int, keys: int, size: int, seed: int) -> Iterator[dict[str, np.ndarray[Any, Any]]]:
    """The day, in order of time."""
    rng = np.random.default_rng(seed)
    active = int(keys * ACTIVE)
    for first in range(0, rows, size):
        count = min(size, rows - first)
        begin, end = (DAY_S * row / rows for row in (first, first + count))
        oldest = int((keys - active) * begin / DAY_S)
        yield {
            "key": oldest + rng.integers(0, active, count),
            "t": np.sort(rng.uniform(begin, end, count)),
            "x": rng.normal(100.0, 15.0, count),
        }


def slices_computed(rows: int, keys: int) -> float:
    """How many slices there are in the middle of the day: those of the range, and of the time until a key is forgotten.

    A slice of a key exists if it has a tuple, which come at random.
    """
    rate = rows / (keys * ACTIVE * DAY_S / SLIDE_S)
    occupied = 1 - math.exp(-rate)
    return keys * ACTIVE * occupied * (RANGE_S / SLIDE_S)


def run(rows: int, keys: int, size: int, samples: int, seed: int) -> Iterator[Sample]:
    """Run the day; samples at even distances."""
    op = KeyedOperator(QUERY, own_watermark=True)
    done = results = 0
    every = max(1, rows // size // samples)
    for number, batch in enumerate(batches(rows, keys, size, seed), 1):
        results += len(op.process_batch(batch)["n"])
        done += len(batch["t"])
        op.forget_silent(float(batch["t"][-1]) - TTL_S)
        if number % every == 0:
            slices = op.metrics["slices_held"]
            yield Sample(
                round(batch["t"][-1] / 3600, 1),
                done,
                results,
                resident() >> 20,
                slices,
                round(slices_computed(rows, keys)),
                round(len(op.snapshot()) / 2**20, 1),
                round(slices * BYTES_A_SLICE / 2**20, 1),
                round(time.process_time(), 1),
            )


def resident() -> int:
    """The bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def faults(samples: list[Sample]) -> list[str]:
    """What is not as it should be, from the second quarter of the day on."""
    settled = samples[len(samples) // 4 :]
    half = len(settled) // 2
    before, after = (max(sample.rss_mb for sample in part) for part in (settled[:half], settled[half:]))
    found = []
    if after > FLAT * before:
        found.append(f"memory grows: {before} MB, then {after} MB")
    for sample in settled:
        if abs(sample.slices / sample.slices_computed - 1) > CLOSE:
            found.append(f"hour {sample.hour}: {sample.slices} slices, {sample.slices_computed} were computed")
        if sample.state_mb > sample.state_at_most_mb:
            found.append(f"hour {sample.hour}: {sample.state_mb} MB of state, at most {sample.state_at_most_mb} MB")
    return found


def as_markdown(samples: list[Sample], keys: int) -> str:
    lines = [
        f"{samples[-1].rows:,} rows of {keys:,} keys, {samples[-1].results:,} results, {samples[-1].cpu_s:,} CPU s.",
        "",
        "| hour | memory, MB | slices | computed | state, MB | at most, MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for x in samples:
        row = (x.hour, x.rss_mb, f"{x.slices:,}", f"{x.slices_computed:,}", x.state_mb, x.state_at_most_mb)
        lines.append(f"| {' | '.join(map(str, row))} |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run, print and write; 1 if something is not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m integration_tests.soak", description="A day of a stream whose keys come and go."
    )
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--docs", action="store_true", help="put the table into docs/faults.md")
    options = parser.parse_args(arguments)
    samples = []
    for sample in run(options.rows, options.keys, options.batch, options.samples, options.seed):
        samples.append(sample)
        print(*(f"{name} {value:,}" for name, value in asdict(sample).items()), sep="  ", flush=True)
    if options.output is not None:
        with options.output.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([field.name for field in fields(Sample)])
            writer.writerows(asdict(sample).values() for sample in samples)
    if options.docs:
        insert(as_markdown(samples, options.keys), PAGE, "soak")
    found = faults(samples)
    print(*found, sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
