"""A model of how a contender scales: fitted on 1 and 2 workers, it predicts more, and says how far it is off.

A row costs CPU time, ``D``. Of w workers' rows the share 1 - 1/w goes to another worker than the one that read it,
which costs ``N`` more:

    D(w) = D + N · (1 - 1/w)

Workers that share nothing would take w times the rows of one, ``X``, each row at the cost of D(w). What they share (a
source, a coordinator, a lock) slows each of them by the share ``S`` for each other one, and the key with the most rows
(the share ``K`` of all) is on one worker:

    X(w) = W · X · D / D(w) / (1 + S · (W - 1)),  W = min(w, 1/K)

State is that of all keys, which do not grow with the workers: each holds and writes its share of it, and what that
costs a row is in D.

On a machine whose cores the workers share, X(w) is at most C / D(w) before the contention. That is how N and S can be
told from runs of 1 and 2 workers on few cores, and how the model is held against what else was measured there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Point", "ScaleModel"]

Point = tuple[float, float]
"""Rows a second, and CPU seconds a row."""


@dataclass(frozen=True)
class ScaleModel:
    """Fitted numbers, by the names of the module's text."""

    rate: float
    """X, rows a second of one worker."""
    cpu: float
    """D, CPU seconds of a row of one worker."""
    network: float
    """N, what a row costs more that goes to another worker."""
    contention: float
    """S."""
    hottest: float = 0.0
    """K, the share of the key with the most rows."""

    @staticmethod
    def fit(one: Point, two: Point, cores: int, hottest: float = 0.0) -> ScaleModel:
        """Of what 1 and 2 workers did that shared so many cores. Noise cannot make more workers cheaper: N, S ≥ 0.

        >>> model = ScaleModel.fit((100.0, 0.01), (160.0, 0.011), cores=8)
        >>> round(model.network, 6), round(model.contention, 3), round(model.rate_of(2), 6)
        (0.002, 0.136, 160.0)
        """
        (rate, cpu), (rate_of_two, cpu_of_two) = one, two
        network = max(0.0, 2 * (cpu_of_two - cpu))
        alone = ScaleModel(rate, cpu, network, 0.0, hottest)
        contention = max(0.0, alone.rate_of(2, cores) / rate_of_two - 1)
        return ScaleModel(rate, cpu, network, contention, hottest)

    def cpu_of(self, workers: int) -> float:
        """CPU seconds of a row with so many workers. O(1)."""
        return self.cpu + self.network * (1 - 1 / workers)

    def rate_of(self, workers: int, cores: int | None = None) -> float:
        """Rows a second of so many workers, each with cores like the one's, or all on so many ``cores``. O(1)."""
        busy = min(workers, 1 / self.hottest) if self.hottest else workers
        rate = busy * self.rate * self.cpu / self.cpu_of(workers)
        if cores is not None:
            rate = min(rate, cores / self.cpu_of(workers))
        return rate / (1 + self.contention * (busy - 1))

    def crossing(self, workers: int, row_bytes: int) -> float:
        """Bytes a second that each worker sends to others. O(1)."""
        return self.rate_of(workers) * (1 - 1 / workers) * row_bytes / workers

    def errors(self, measured: Mapping[int, float], cores: int) -> dict[int, float]:
        """By how much its prediction for ``cores`` is off what was measured there, as a share. O(measured).

        >>> ScaleModel(100.0, 0.01, 0.0, 0.0).errors({1: 100.0, 4: 160.0}, cores=2)
        {1: 0.0, 4: 0.25}
        """
        return {workers: self.rate_of(workers, cores) / rate - 1 for workers, rate in measured.items()}
