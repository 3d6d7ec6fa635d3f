"""All experiments, and where their raw results are."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from pathlib import Path
from typing import Any

from sash_experiments import (
    arasu_widom,
    benches,
    daba,
    dashboard,
    pba,
    pba_latency,
    reactive,
    reactive_memory,
    young_and_old,
)
from sash_experiments.experiment import SCALES, Experiment, Scale
from sash_experiments.machine import commit, facts
from sash_experiments.raw import FIELDS, Measured, Results, load, saving

__all__ = ["EXPERIMENTS", "find", "is_current", "measured_by", "reads_original", "run", "stored"]

_PBA = sorted([*pba.EXPERIMENTS, *pba_latency.EXPERIMENTS], key=lambda each: each.name)
_REACTIVE = [*reactive.EXPERIMENTS, *arasu_widom.EXPERIMENTS, *reactive_memory.EXPERIMENTS]
_DABA = [*daba.EXPERIMENTS, *young_and_old.EXPERIMENTS]
_SLICING = [*benches.SLICING, *dashboard.EXPERIMENTS]
EXPERIMENTS: dict[str, Experiment] = {each.name: each for each in (*_PBA, *_DABA, *_SLICING, *_REACTIVE, *benches.MTA)}


def _path(experiment: Experiment, scale: Scale, folder: Path) -> Path:
    return folder / f"{experiment.name}.{scale}.csv"


def find(name: str) -> Experiment:
    """An experiment by its name; a KeyError that tells the names."""
    if name not in EXPERIMENTS:
        raise KeyError(f"there is no experiment {name!r}; there are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def run(
    experiment: Experiment, scale: Scale, folder: Path, data_dir: Path | None = None
) -> Generator[Measured, None, None]:
    """Measure, and keep the raw results; the rows as they come. ``data_dir`` holds original data sets."""
    if experiment.measure is None:
        raise ValueError(f"{experiment.name} is not measured by itself: {experiment.gap or experiment.bench}")
    sizes, more = experiment.sizes[scale], {}
    if data_dir is not None and reads_original(experiment):
        more = {"data_dir": data_dir}
    about = facts(experiment=experiment.name, scale=scale, sizes=sizes, original_data=bool(more))
    yield from saving(_path(experiment, scale, folder), FIELDS, experiment.measure(**sizes, **more), about)


def is_current(experiment: Experiment, scale: Scale, folder: Path) -> bool:
    """Whether it has been measured at this scale by the code that this is, committed as it is."""
    kept, now = load(_path(experiment, scale, folder)), commit()
    return kept is not None and now is not None and not now.endswith("+") and kept.facts.get("commit") == now


def reads_original(experiment: Experiment) -> bool:
    """Whether it is measured on an original data set, where there is one."""
    return experiment.measure is not None and "data_dir" in inspect.signature(experiment.measure).parameters


def measured_by(experiment: Experiment) -> list[Experiment]:
    """What has to be run for it: itself, or those that it is drawn from; nothing, if a benchmark measures it."""
    if experiment.drawn_from:
        return [EXPERIMENTS[name] for name in experiment.drawn_from]
    return [experiment] if experiment.measure is not None else []


def stored(experiment: Experiment, folder: Path) -> Results | None:
    """Its results at the largest scale that there is, or those of its benchmark; None: it has not been run."""
    if experiment.drawn_from:
        return _in_time(experiment, folder)
    if experiment.measure is None:
        return benches.of_bench(experiment, folder)
    for scale in reversed(SCALES):
        found = load(_path(experiment, scale, folder))
        if found is not None:
            return found
    return None


def _in_time(experiment: Experiment, folder: Path) -> Results | None:
    """What the experiments that it is drawn from recorded slide by slide; None, unless all have been run."""
    found = [stored(each, folder) for each in measured_by(experiment)]
    rows, about = list[Measured](), dict[str, Any]()
    for results in found:
        if results is None:
            return None
        rows += [row for row in results.rows if row.panel.endswith("in time")]
        about = about | results.facts
    return Results(tuple(rows), about | {"experiment": experiment.name, "sizes": None})
