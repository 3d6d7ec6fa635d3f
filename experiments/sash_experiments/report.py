"""One HTML page: every claim, every experiment with its plots and numbers, the machine. It needs no network."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from sash_experiments.breakeven import NEVER
from sash_experiments.experiment import PAPERS, Experiment
from sash_experiments.machine import facts
from sash_experiments.markup import number, pairs, size, table, text
from sash_experiments.raw import COMPILED, Results
from sash_experiments.registry import EXPERIMENTS, stored
from sash_experiments.verdicts import CANNOT, DIRECTION, FAILS, HOLDS, NEEDS_MORE, NOT_RUN, Judged, judged

__all__ = ["page"]

CLASSES = {
    HOLDS: "holds",
    DIRECTION: "direction",
    FAILS: "fails",
    NEEDS_MORE: "more",
    CANNOT: "cannot",
    NOT_RUN: "notrun",
}
MARKS = {HOLDS: "✓", DIRECTION: "↗", FAILS: "✗", NEEDS_MORE: "…", CANNOT: "–", NOT_RUN: "○"}
WIDEST = 24
"""A panel with more places than this is a plot only."""


def page(folder: Path) -> str:
    """The whole page, from the raw results in a folder."""
    claims = list(judged(folder))
    known = {name: stored(experiment, folder) for name, experiment in EXPERIMENTS.items()}
    drawn = {name: _plot(EXPERIMENTS[name], results) for name, results in known.items() if results is not None}
    parts = {
        "style": _asset("report.css"),
        "script": _asset("report.js"),
        "counts": _counts(claims),
        "by-paper-words": escape("; ".join(_of_paper(key, claims) for key in PAPERS)),
        "by-paper": "".join(_bars(key, claims) for key in PAPERS),
        "contents": _contents(),
        "papers": "".join(f'<option value="{key}">{escape(title)}</option>' for key, title in PAPERS.items()),
        "claims": "".join(map(_claim, claims)),
        "experiments": "".join(
            _section(each, known[name], [one for one in claims if one.claim.experiment == name])
            for name, each in EXPERIMENTS.items()
        ),
        "machine": pairs(facts()),
        "data": json.dumps(drawn, separators=(",", ":")).replace("</", "<\\/"),
    }
    whole = _asset("report.html")
    for name, part in parts.items():
        whole = whole.replace(f"<!--{name}-->", part)
    return whole


def _asset(name: str) -> str:
    return files("sash_experiments").joinpath("page", name).read_text(encoding="utf-8")


def _counts(claims: list[Judged]) -> str:
    counts = Counter(each.verdict for each in claims)
    return "".join(
        f'<span class="count {CLASSES[verdict]}"><b>{counts[verdict]}</b> {verdict}</span>' for verdict in CLASSES
    )


def _of_paper(paper: str, claims: list[Judged]) -> str:
    """In words, for those who do not see the bars."""
    counts = _verdicts_of(paper, claims)
    return f"{_short(paper)}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _bars(paper: str, claims: list[Judged]) -> str:
    """How many claims of a paper have which verdict, as a bar."""
    counts = _verdicts_of(paper, claims)
    bars = "".join(
        f'<span class="{CLASSES[verdict]}" style="flex: {count}" title="{count} {verdict}"><b>{count}</b></span>'
        for verdict, count in counts.items()
    )
    return f'<div data-paper="{paper}"><span>{escape(_short(paper))}</span><span class="bars">{bars}</span></div>\n'


def _verdicts_of(paper: str, claims: list[Judged]) -> dict[str, int]:
    """Those that occur, in the order of their classes."""
    counts = Counter(each.verdict for each in claims if EXPERIMENTS[each.claim.experiment].paper == paper)
    return {verdict: counts[verdict] for verdict in CLASSES if counts[verdict]}


def _short(paper: str) -> str:
    return PAPERS[paper].partition(":")[0]


def _contents() -> str:
    """Links to the claims, to all experiments by paper, and to the machine."""
    papers = []
    for paper in PAPERS:
        names = [name for name, experiment in EXPERIMENTS.items() if experiment.paper == paper]
        links = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in names)
        papers.append(f'<li><a href="#{names[0]}">{escape(_short(paper))}</a><ul>{links}</ul></li>')
    inside = "".join(papers)
    return f'<ul><li><a href="#claims">Claims</a></li>{inside}<li><a href="#machine">This machine</a></li></ul>'


def _claim(each: Judged) -> str:
    claim, kind = each.claim, CLASSES[each.verdict]
    paper = EXPERIMENTS[claim.experiment].paper
    cells = [
        f'<td data-label="claim">{text(claim.text)}<br><a href="#{claim.experiment}">{claim.experiment}</a></td>',
        f'<td data-label="paper">{text(claim.published)}</td>',
        f'<td data-label="here">{text(each.ours) or "–"}</td>',
        f'<td data-label="verdict">{_verdict(each)}'
        + (f'<div class="why">{text(each.why)}</div>' if each.why else "")
        + "</td>",
    ]
    return f'<tr data-paper="{paper}" data-verdict="{kind}">{"".join(cells)}</tr>\n'


def _verdict(each: Judged) -> str:
    mark = f'<span aria-hidden="true">{MARKS[each.verdict]}</span>'
    return f'<span class="verdict {CLASSES[each.verdict]}">{mark} {each.verdict}</span>'


def _section(experiment: Experiment, results: Results | None, claims: list[Judged]) -> str:
    head = (
        f'<section class="experiment" id="{experiment.name}" data-paper="{experiment.paper}"><h3>'
        f"{escape(experiment.name)}: {text(experiment.title)}</h3><p>{text(experiment.workload)}</p>"
    )
    gap = f'<p class="gap">{text(experiment.gap)}</p>' if experiment.gap else ""
    if results is None:
        return f'{head}{gap}<p class="state">Not run.</p>{_said(claims)}{_command(experiment)}</section>\n'
    scale = results.facts.get("scale")
    state = f"Scale: {scale}. " if scale else "From the benchmark's raw results. "
    small = "Too small to mean anything: it only shows that it runs. " if scale == "smoke" else ""
    body = [
        f'<p class="state">{state}{small}{escape(_load(results))}</p>',
        f'<div class="plot" data-experiment="{experiment.name}"></div>',
        _said(claims),
        _published(experiment),
        "".join(_tables(results, experiment.table)),
        f"<details><summary>The machine and versions of this run</summary>{pairs(results.facts)}</details>",
        _command(experiment),
    ]
    return f"{head}{gap}{''.join(body)}</section>\n"


def _said(claims: list[Judged]) -> str:
    """What the paper says of it, beside ours: its curves are not at hand, the numbers of its text are."""
    if not claims:
        return ""
    lines = "".join(
        f"<li>{text(each.claim.text)}: <b>{text(each.claim.published)}</b> in the paper, "
        f"<b>{text(each.ours) or '–'}</b> here {_verdict(each)}</li>"
        for each in claims
    )
    return f'<ul class="said">{lines}</ul>'


def _load(results: Results) -> str:
    load, cores = results.load, results.facts.get("cores")
    return f"The load before was {load:.1f}, on {cores} cores." if load is not None else ""


def _command(experiment: Experiment) -> str:
    return f'<p class="command"><code>{escape(experiment.command)}</code></p>'


def _tables(results: Results, opened: bool) -> Iterator[str]:
    for rung, panel, unit in _parts(results):
        series = results.on(rung).panel(panel)
        places = list(dict.fromkeys(x for line in series.values() for x in line))
        if len(places) <= WIDEST:
            rows = [[size(x), *(_measured(line.get(x), unit) for line in series.values())] for x in places]
            yield table(f"Numbers: {_title(panel, rung)}, {unit} (medians)", ["", *series], rows, opened)


def _parts(results: Results) -> Iterator[tuple[str, str, str]]:
    """(rung, panel, unit) of all panels, those of Python first."""
    for rung in sorted(results.rungs, reverse=True):
        for panel, unit in results.on(rung).panels.items():
            yield rung, panel, unit


def _title(panel: str, rung: str) -> str:
    return f"{panel}, compiled" if rung == COMPILED else panel


def _measured(value: float | None, unit: str) -> str:
    return "never" if value == NEVER and unit == "values" else number(value)


def _published(experiment: Experiment) -> str:
    if not experiment.published:
        return ""
    columns = list(next(iter(experiment.published.values())))
    rows = [[size(name), *(number(line.get(each)) for each in columns)] for name, line in experiment.published.items()]
    return table(f"The paper's own numbers, {experiment.published_unit}", ["", *columns], rows, opened=True)


def _plot(experiment: Experiment, results: Results) -> dict[str, Any]:
    """What the page's script draws."""
    panels = [
        _panel(experiment, results.on(rung), name, _title(name, rung), unit) for rung, name, unit in _parts(results)
    ]
    return {"x": experiment.x, "panels": panels}


def _panel(experiment: Experiment, results: Results, name: str, title: str, unit: str) -> dict[str, Any]:
    series = results.panel(name)
    places = list(dict.fromkeys(x for line in series.values() for x in line))
    numeric = all(map(_is_number, places))
    index = {x: float(x) if numeric else i for i, x in enumerate(places)}
    in_time = name.endswith("in time")
    lines = {
        label: sorted([index[x], float(f"{y:.5g}")] for x, y in line.items() if math.isfinite(y))
        for label, line in series.items()
    }
    return {
        "name": title,
        "unit": unit,
        "x": "slides" if in_time else experiment.x,
        "labels": None if numeric else places,
        "xLog": numeric and experiment.x_log and not in_time and min(index.values(), default=0) > 0,
        "yLog": experiment.y_log,
        "series": lines,
    }


def _is_number(place: str) -> bool:
    try:
        return math.isfinite(float(place))
    except ValueError:
        return False
