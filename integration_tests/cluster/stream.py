"""The stream of the fault tests, and what comes out of it by the definition. Jobs read the query from here too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import sash
from sash.testing import Evaluator

__all__ = ["KEYS", "POISON", "QUERY", "START", "expected", "key_of", "last", "lines", "moment_of", "records", "told"]

KEYS = [f"plug-{number}" for number in range(6)]
START = datetime(2024, 3, 31, tzinfo=UTC)
QUERY = sash.Query(
    key="plug",
    windows={"hour": sash.sliding("20s", "5s"), "spell": sash.session("3s")},
    aggregates={"total": sash.Sum("load"), "peak": sash.Max("load"), "n": sash.Count()},
    time="ts",
    watermark_delay="4s",
)
"""Disorder of four seconds; nothing is later than that, so that results do not depend on when the watermark came."""

POISON = [
    "no JSON",
    '{"plug": null, "ms": 1, "load": 1}',
    '{"plug": "plug-1", "ms": 1, "load": "much"}',
    '{"load":1,"plug":"plug-1"}',
]
"""Records that cannot be taken: no JSON, no key, a load that is no number, no time."""


def records(begin: int, end: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of some steps: a key and a value each. Every step is a second of the stream, out of order."""
    for step in range(begin, end):
        shifted = step - (step * 7) % 4
        for number, key in enumerate(KEYS):
            if (step + number) % 11 in (4, 5, 6, 7):  # a pause, which ends a session
                continue
            moment = START + timedelta(seconds=shifted, milliseconds=number)
            yield key, {"plug": key, "ms": _ms(moment), "load": (step * 5 + number) % 13}


def last(end: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Records far behind all others: they close every window."""
    moment = START + timedelta(seconds=end + 3600)
    for key in KEYS:
        yield key, {"plug": key, "ms": _ms(moment), "load": 0}


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def expected(end: int) -> list[str]:
    """The results of all steps up to ``end`` and of :func:`last`, as :func:`line` tells them, sorted."""
    return _results([*records(0, end), *last(end)])


def told(end: int) -> list[str]:
    """Those that are there while the stream goes on."""
    return _results([*records(0, end)])


def _results(stream: list[tuple[str, dict[str, Any]]]) -> list[str]:
    found: list[str] = []
    for key in KEYS:
        evaluator = Evaluator(QUERY)
        for row in (value for of, value in stream if of == key):
            results = evaluator.process({**row, "ts": datetime.fromtimestamp(row["ms"] / 1000, UTC)})
            found += [line({"plug": key, **result}) for result in results]
    return sorted(found)


def moment_of(result: dict[str, Any]) -> datetime:
    """Where the window of a result ends."""
    return datetime.fromisoformat(_moment(result["window_end"]))


def key_of(result: dict[str, Any]) -> str:
    """What names a result: its key, its window and where that is."""
    return "|".join(str(result[name]) for name in ("plug", "window", "window_start", "window_end"))


def line(result: dict[str, Any]) -> str:
    """A result as a text that is the same from every engine."""
    told = {name: _moment(value) for name, value in result.items()}
    return json.dumps({name: told[name] for name in QUERY.results})


def _moment(value: Any) -> Any:
    if isinstance(value, str) and value[:2] == "20" and "plug" not in value:
        value = datetime.fromisoformat(value.replace(" ", "T").replace("Z", "+00:00"))
    if isinstance(value, datetime):
        value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return value.isoformat()
    return value


def lines(results: Iterable[dict[str, Any]]) -> list[str]:
    """Results of an engine, sorted."""
    return sorted(map(line, results))
