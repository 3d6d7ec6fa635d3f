"""The runs of ``bench scalability`` on one Flink, embedded or a cluster, of a given parallelism.

A generator in the JVM makes readings of plugs that do not report alike often, as those of DEBS 2014 do. Before a
contender's run there is one on few records, of which the difference is what counts: not the start of a job.

``FPBA by record`` is the paper's: a call a record, and ``lcs`` on the slot's pool. ``FPBA packed`` has a thread beside
the task's own, too; ``SBA packed`` has none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sash
import sash_flink
from sash_experiments.benchmarks.flink.contenders import Readings, count_window, hop, ours, over
from sash_experiments.benchmarks.scalability.aggregates import by_threads, count_query
from sash_experiments.benchmarks.scalability.runs import Run, arguments, report, runs
from sash_experiments.generators.debs import WORK

ONE_KEY = "count_window"
"""So slow that it is run on one key."""
Work = Callable[[Readings], Any]
OURS: dict[str, Callable[[str, int], Work]] = {
    "FPBA by record": lambda aggregate, n: _by_record(by_threads(aggregate, n)),
    "FPBA packed": lambda aggregate, n: ours(count_query(aggregate, n, "pba"), threads=1),
    "SBA packed": lambda aggregate, n: ours(count_query(aggregate, n, "sba"), threads=0),
}
OWN: dict[str, Callable[[int], Work]] = {"SQL OVER": over, "HOP": hop, "count_window": count_window}
"""The engine's own, which know a maximum."""


def _by_record(query: sash.Query) -> Work:
    return lambda readings: readings.sink(
        sash_flink.aggregate(readings.stream("plug, `load`"), query, packed=False, threads=1)
    )


def contender(aggregate: str, name: str, n: int) -> Work:
    """What runs a job over readings."""
    return OURS[name](aggregate, n) if name in OURS else OWN[name](n)


def few(name: str, keys: int, n: int) -> int:
    """Records of the run that is subtracted: SQL OVER's windows are full then, that of count_window is not."""
    return {"SQL OVER": keys * n * 3 // 2, ONE_KEY: n // 3}.get(name, 2_000)


class Plugs(Readings):
    """The readings of ``bench flink``, but the i-th plug reports i ** -WORK times as often as the first."""

    def __init__(self, records: int, keys: int, parallelism: int, settings: dict[str, str]) -> None:
        from pyflink.common import Configuration

        super().__init__(records, keys)
        self.env.set_parallelism(parallelism)
        configuration = Configuration()
        for name, value in settings.items():
            configuration.set_string(name, value)
        self.env.configure(configuration)
        # The inverse of how plugs share the readings: that of a power is a power.
        share = f"POWER(CAST(MOD(id * 7919, 1000003) AS DOUBLE) / 1000003, {1 / (1 - WORK):.4f})"
        self.plug, self.load = f"CAST({share} * {keys} AS INT)", "CAST(MOD(id * 104729, 1000003) AS DOUBLE)"
        self.select = f"SELECT {self.plug} AS plug, ts, {self.load} AS `load`, proc FROM ids"


def main() -> None:
    options = arguments(__doc__)

    def work(run: Run) -> None:
        keys = 1 if run.contender == ONE_KEY else options.keys
        compute = contender(run.aggregate, run.contender, options.range)
        compute(Plugs(run.rows, keys, options.parallelism, options.setting))

    for aggregate, name in options.contenders:
        work(Run(aggregate, name, 100, 0))  # loads classes and compiles kernels
    for run in runs(options.contenders, options.repeats):
        report(run, work, options.pause, few(run.contender, options.keys, options.range))


if __name__ == "__main__":
    main()
