"""The programs in examples/, each run as a user would, on the real library or engine, and compared with the definition.

The one on Kafka needs a broker: ``cluster/test_kafka_example.py``.
"""

from __future__ import annotations

import importlib.util
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sash
from sash.testing import evaluate

from .notebooks import pictures, run_notebook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[1] / "examples"
NOON = datetime(2026, 1, 5, 12)


def program(name: str) -> ModuleType:
    """A program as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(query: sash.Query, rows: list[dict[str, Any]], close: bool) -> list[dict[str, Any]]:
    """The results by the definition, key by key, by the watermark of the stream."""
    (key,) = query.keys
    op_events: dict[Any, list[Any]] = {row[key]: [] for row in rows}
    newest = datetime.min
    for row in rows:
        newest = max(newest, row[str(query.time)])
        for name, events in op_events.items():
            events.append(("row", row) if row[key] == name else ("advance", newest - timedelta(minutes=2)))
    return [
        {key: name, **result}
        for name, events in op_events.items()
        for result in evaluate(query, [*events, *([("close",)] if close else [])])
    ]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    lines = [json.dumps(row, default=lambda value: value.isoformat()) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def read_lines(folder: Path) -> list[dict[str, Any]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith((".", "_"))]
    return [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]


def test_vwap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vwap = program("vwap")
    trades = vwap.made_up(500)
    trades.to_csv(tmp_path / "trades.csv", index=False)
    vwap.main([str(tmp_path / "trades.csv"), "--out", str(tmp_path / "bars.csv")])
    assert "farthest above" in capsys.readouterr().out
    bars = pd.read_csv(tmp_path / "bars.csv", parse_dates=["window_start", "window_end"])
    assert len(bars) > 20
    for bar in bars.itertuples():
        inside = trades[
            (trades["symbol"] == bar.symbol) & (trades["time"] >= bar.window_start) & (trades["time"] < bar.window_end)
        ]
        assert bar.vwap == pytest.approx(np.average(inside["price"], weights=inside["volume"]))
        assert (bar.open, bar.close) == (inside["price"].iloc[0], inside["price"].iloc[-1])
    last = vwap.with_trailing_vwap(trades).iloc[-1]
    before = trades[(trades["symbol"] == last["symbol"]) & (trades["time"] > last["time"] - timedelta(minutes=5))]
    assert last["vwap"] == pytest.approx(np.average(before["price"], weights=before["volume"]))


def test_sensor_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sensors = program("sensor_sessions")
    readings = sensors.made_up(2)
    readings.write_parquet(tmp_path / "readings.parquet")
    sensors.main([str(tmp_path / "readings.parquet"), "--out", str(tmp_path / "sessions.parquet")])
    assert "machine" in capsys.readouterr().out
    sessions = pl.read_parquet(tmp_path / "sessions.parquet")
    assert len(sessions) == 20
    assert sessions["readings"].sum() == len(readings)
    for session in sessions.iter_rows(named=True):
        inside = readings.filter(
            (pl.col("machine") == session["machine"]) & pl.col("at").is_between(session["first"], session["last"])
        )
        assert len(inside) == session["readings"]
        assert inside["vibration"].quantile(0.99, "linear") == pytest.approx(session["vibration_p99"])


def literal_adwin(drift: ModuleType, values: list[float], confidence: float) -> list[tuple[int, float]]:
    """(first row, mean) of the window after each row: ADWIN over lists, bucket by bucket, as its paper has it."""
    found, begin = [], 0
    for end in range(1, len(values) + 1):
        while True:
            places, at = [begin], begin
            while at < end:  # the largest interval of row numbers that begins here and fits
                at += max(1 << k for k in range(drift.LARGEST + 1) if at % (1 << k) == 0 and at + (1 << k) <= end)
                places.append(at)
            window = np.array(values[begin:end])
            cuts = [(window[: cut - begin], window[cut - begin :]) for cut in places[1:-1]]
            odds = np.log(2 * np.log(len(window)) / confidence) if cuts else 0.0
            scale = [1 / len(older) + 1 / len(younger) for older, younger in cuts]
            most = [np.sqrt(2 * m * window.var() * odds) + 2 / 3 * m * odds for m in scale]
            if not any(abs(a.mean() - b.mean()) > e for (a, b), e in zip(cuts, most, strict=True)):
                break
            begin = places[1]
        found.append((begin, float(np.mean(values[begin:end]))))
    return found


def test_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drift = program("drift")
    readings = drift.made_up().iloc[450:900].reset_index(drop=True).assign(number=range(450))
    readings.to_csv(tmp_path / "readings.csv", index=False)
    drift.main([str(tmp_path / "readings.csv")])
    assert capsys.readouterr().out.startswith("row ")
    results = sash.run(drift.query(), readings)
    literal = literal_adwin(drift, readings["value"].tolist(), 0.002)
    assert results["window_start"].tolist() == [begin for begin, _ in literal]
    assert results["mean"].tolist() == pytest.approx([mean for _, mean in literal])
    assert results["window_start"].nunique() > 1 and 100 < results["window_start"].iloc[-1] <= 150


def test_histograms_of_neighbouring_rows_merge_in_any_order() -> None:
    drift = program("drift")
    rows = [drift.histogram(number, number % 7 / 4) for number in range(3, 300)]
    one_by_one = rows[0]
    for each in rows[1:]:
        one_by_one = drift.merge(one_by_one, each)
    parts = rows
    while len(parts) > 1:
        pairs = [drift.merge(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) & ~1 :]
    assert parts[0] == one_by_one


def test_smart_meters_go_on_where_they_were(spark: SparkSession, tmp_path: Path) -> None:
    meters = program("smart_meters")
    rows = [
        {"house": f"house {i % 2}", "ts": NOON + timedelta(minutes=i - (i % 3 == 2)), "watts": float(i * 37 % 50)}
        for i in range(100)
    ]
    folders = [str(tmp_path / name) for name in ("in", "table", "checkpoint")]
    write_lines(tmp_path / "in" / "1.json", rows[:60])
    meters.main([*folders, "--once"])
    first = spark.read.parquet(folders[1]).count()
    write_lines(tmp_path / "in" / "2.json", rows[60:])
    meters.main([*folders, "--once"])
    table = spark.read.parquet(folders[1]).toPandas().to_dict("records")
    assert 0 < first < len(table)
    want = expected(meters.QUERY, rows, close=False)
    by_end = {(row["house"], row["window_end"]): row for row in table}
    assert len(by_end) == len(table) == len(want)
    for row in want:
        got = by_end[row["house"], pd.Timestamp(row["window_end"])]
        assert (got["peak"], got["readings"]) == (row["peak"], row["readings"])
        assert got["peak_at"] == pd.Timestamp(row["peak_at"])


def test_fraud_features_and_late_payments(flink_jvm: None, tmp_path: Path) -> None:
    fraud = program("fraud")
    late = {"card": "a", "ts": NOON, "amount": 1.0, "country": "NO"}
    payments: list[dict[str, Any]] = [
        {"card": "ab"[i % 2], "ts": NOON + timedelta(seconds=40 * i), "amount": 5.0 + i % 7, "country": "NDS"[i % 3]}
        for i in range(40)
    ]
    write_lines(tmp_path / "payments" / "all.jsonl", [*payments[:20], late, *payments[20:]])
    fraud.main([str(tmp_path / name) for name in ("payments/all.jsonl", "features", "late")])
    assert [row["card"] for row in read_lines(tmp_path / "late")] == ["a"]
    features = {(row["card"], row["window"], row["ts"]): row for row in read_lines(tmp_path / "features")}
    assert len(features) == 2 * len(payments)
    for payment in payments:
        for window, length in (("5m", timedelta(minutes=5)), ("1h", timedelta(hours=1))):
            recent = [
                other
                for other in payments
                if other["card"] == payment["card"] and payment["ts"] - length < other["ts"] <= payment["ts"]
            ]
            found = features[payment["card"], window, payment["ts"].isoformat()]
            assert found["payments"] == len(recent)
            assert found["spent"] == sum(other["amount"] for other in recent)
            assert found["countries"] == len({other["country"] for other in recent})


def test_the_notebook_shows_what_its_cells_draw() -> None:
    shown = run_notebook(EXAMPLES / "windows.ipynb")
    drawn = [str(value) for value in shown if str(value).startswith("<svg")]
    assert len(drawn) == 4
    assert pictures(EXAMPLES / "windows.ipynb") == drawn


def test_each_program_has_a_test() -> None:
    tests = Path(__file__).read_text(encoding="utf-8") + (
        Path(__file__).parent / "cluster" / "test_kafka_example.py"
    ).read_text(encoding="utf-8")
    assert [path.name for path in sorted(EXAMPLES.iterdir()) if path.is_file() and path.stem not in tests] == []
