"""The runs of ``bench scalability`` on one Flink, embedded or a cluster, of a given parallelism.

A generator in the JVM makes readings of plugs that do not report alike often, as those of DEBS 2014 do. Before a
contender's run there is one on few records, of which the difference is what counts: not the start of a job.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash_experiments.benchmarks.flink.contenders import Readings, count_query, count_window, hop, ours, over
from sash_experiments.benchmarks.scalability.runs import WARM, Run, arguments, report, runs
from sash_experiments.generators.debs import WORK

ONE_KEY = "count_window"
"""So slow that it is run on one key."""
CONTENDERS: dict[str, Callable[[int], Callable[[Readings], Any]]] = {
    "sash": lambda n: ours(count_query(n)),
    "SQL OVER": over,
    "HOP": hop,
    "count_window": count_window,
}


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

    def work(name: str, records: int) -> None:
        keys = 1 if name == ONE_KEY else options.keys
        CONTENDERS[name](options.range)(Plugs(records, keys, options.parallelism, options.setting))

    for name in options.contenders:
        work(name, 100)  # loads classes and compiles kernels
    for run in runs(options.contenders, options.repeats):
        if run.repeat != WARM:
            report(Run(run.contender, few(run.contender, options.keys, options.range), run.repeat), work, options.pause)
        report(run, work, options.pause)


if __name__ == "__main__":
    main()
