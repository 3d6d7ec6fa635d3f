"""How much ``bench scalability`` runs, at three scales: which contenders, on how many rows, where."""

from __future__ import annotations

from dataclasses import dataclass, field

from sash_experiments.benchmarks.scalability.runs import Name

__all__ = ["SCALES", "Size"]

MOST_BY_RECORD = 200_000
"""Records that a call each costs some sixty microseconds."""
FITTED = 2
"""Up to so many workers all contenders run; beyond, those that the scale model is held against."""
CHECKED = ("FPBA packed", "SBA packed", "SQL OVER", "batch", "van Herk in SQL")


@dataclass(frozen=True)
class Size:
    """How much is run."""

    rows: int
    range: int = 2**10
    repeats: int = 3
    keys: dict[str, tuple[int, ...]] = field(default_factory=lambda: {"local": (84,), "cluster": (336,)})
    """By place. The paper's are 84 on one machine, and 336 on a cluster."""
    parallelisms: tuple[int, ...] = (1, 2, 4)

    def contenders(self, engine: str, keys: int, parallelism: int) -> dict[Name, int]:
        """And on how many rows each. HOP and F.window put each row into as many windows, whatever is in them.

        What SQL OVER costs is that of its windows' rows: of its rows, those count that come when windows are full.
        count_window, on one key, is measured when its window is half full: a full one takes too long.
        """
        every = self._on_spark() if engine == "spark" else self._on_flink(keys)
        if parallelism > FITTED:
            return {name: rows for name, rows in every.items() if name[0] == "max" and name[1] in CHECKED}
        if parallelism > 1:
            every.pop(("max", "count_window"), None)
        return every

    def _on_spark(self) -> dict[Name, int]:
        few = min(self.rows, 10 * self.range)
        ours = {
            (aggregate, name): self.rows if aggregate == "max" else self.rows // 4
            for aggregate in ("max", "moments")
            for name in ("batch", "stateful streaming")
        }
        own = {"van Herk in SQL": self.rows, "rowsBetween": self.rows // 4, "F.window": few}
        return {**ours, **{("max", name): rows for name, rows in own.items()}}

    def _on_flink(self, keys: int) -> dict[Name, int]:
        packed = {"max": self.rows, "moments": self.rows // 4}
        ours = {
            (aggregate, name): min(rows, MOST_BY_RECORD) if name == "FPBA by record" else rows
            for aggregate, rows in packed.items()
            for name in ("FPBA by record", "FPBA packed", "SBA packed")
        }
        own = {"SQL OVER": keys * self.range * 3 // 2 + self.rows // 8, "HOP": 120 * self.range}
        return {
            **ours,
            **{("max", name): rows for name, rows in own.items()},
            ("max", "count_window"): self.range * 2 // 3,
        }


SCALES = {
    "smoke": Size(40_000, 64, 1, {"local": (84,), "cluster": (336,)}, (1,)),
    "small": Size(1_000_000),
    "full": Size(4_000_000, keys={"local": (84, 336), "cluster": (84, 336)}),
}
