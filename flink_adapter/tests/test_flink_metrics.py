"""What Flink's REST interface, and so its UI, tells of a job; and that a long window is not written again and again."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sash

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

SLICES = 2**20
FILES, ROWS = 8, 10


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Told:
    """The metrics of the operator of a job, by their names without those of the groups around them."""

    def __init__(self, port: int, job: str) -> None:
        self._url = f"http://127.0.0.1:{port}/jobs/{job}"

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self._url}{path}", timeout=30) as answer:
            return json.load(answer)

    def metrics(self) -> dict[str, float]:
        (vertex,) = [each["id"] for each in self._get("")["vertices"] if "sash: windows" in each["name"]]
        path = f"/vertices/{vertex}/subtasks/metrics"
        names = [each["id"] for each in self._get(path) if ".sash." in each["id"]]
        values = self._get(f"{path}?get={','.join(names)}") if names else []
        return {each["id"].rpartition(".")[2]: each["sum"] for each in values}

    def once(self, **least: int) -> dict[str, float]:
        """The metrics, as soon as they have reached these."""
        end = time.monotonic() + 240
        while time.monotonic() < end:
            found = self.metrics()
            if all(found.get(name, -1) >= value for name, value in least.items()):
                return found
            time.sleep(0.2)
        raise TimeoutError(f"{least} were not reached: {found}")


def readings(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    """As many readings as the window has slices, and then those of files that come into a folder."""
    from pyflink.table import StreamTableEnvironment

    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE many (t BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '100000000', "
        f"'fields.t.kind' = 'sequence', 'fields.t.start' = '0', 'fields.t.end' = '{SLICES - 1}')"
    )
    t_env.execute_sql(
        f"CREATE TEMPORARY TABLE more (t BIGINT) WITH ('connector' = 'filesystem', 'path' = '{folder}', "
        "'format' = 'json', 'source.monitor-interval' = '200ms')"
    )
    return t_env.to_data_stream(
        t_env.sql_query("SELECT t, CAST(t AS DOUBLE) AS x FROM (SELECT t FROM many UNION ALL SELECT t FROM more)")
    )


def test_the_metrics_are_in_flinks_rest_interface_and_long_windows_are_written_once(
    flink: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    from pyflink.common import Configuration
    from pyflink.java_gateway import get_gateway

    import sash_flink

    port = free_port()
    settings = Configuration()
    settings.set_string("rest.bind-port", str(port))
    settings.set_string("metrics.fetcher.update-interval", "200")
    flink.configure(settings)
    asked = sash.Query(windows=sash.sliding(SLICES), aggregates={"peak": sash.Max("x")})
    results = sash_flink.aggregate(readings(flink, tmp_path), asked, latency="50ms")
    sink = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    results._j_data_stream.sinkTo(sink)
    job = flink.execute_async("metrics")
    told = Told(port, str(job.get_job_id()))
    full = told.once(rows=SLICES)
    for number in range(FILES):
        hidden = tmp_path / f".{number}"
        hidden.write_text("".join(json.dumps({"t": SLICES + i}) + "\n" for i in range(ROWS)))
        hidden.rename(tmp_path / f"{number}.json")
        last = told.once(rows=SLICES + ROWS * (number + 1))  # so that each is in a bundle of its own
    last = told.once(results=FILES * ROWS + 1)
    job.cancel().result()
    there = {"rows", "results", "late", "stateBytes", "stateWritten", "merges", "keysAlive", "lcsTasks", "lcsWaits"}
    assert there <= set(last)
    assert (last["rows"], last["results"]) == (SLICES + FILES * ROWS, FILES * ROWS + 1)
    assert last["merges"] > SLICES and last["keysAlive"] == 1
    assert last["stateBytes"] > 8 * SLICES
    assert last["stateWritten"] - full["stateWritten"] < last["stateBytes"] / 2  # of FILES bundles, or more
