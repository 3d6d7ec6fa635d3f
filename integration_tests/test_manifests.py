"""The manifests for Kubernetes: they fit the operators' schemas, and what they name is in the image or in the examples.

No cluster is there to take them. ``compose/kubernetes/schemas`` has the fields that they use; any other field is
refused.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "compose" / "kubernetes"
EXAMPLES = {"flink": "fraud.py", "spark": "smart_meters.py"}


def manifest(engine: str) -> Any:
    return yaml.safe_load((FOLDER / f"{engine}.yaml").read_text(encoding="utf-8"))


def check(engine: str, document: Any) -> None:
    jsonschema.validate(document, json.loads((FOLDER / "schemas" / f"{engine}.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("engine", EXAMPLES)
def test_a_manifest_fits_the_schema_of_its_operator(engine: str) -> None:
    check(engine, manifest(engine))


def misspell(document: Any) -> None:
    document["spec"]["imagePulPolicy"] = document["spec"].pop("imagePullPolicy")


def number_for_text(document: Any) -> None:
    document["spec"]["image"] = 3


def leave_out_kind(document: Any) -> None:
    del document["kind"]


@pytest.mark.parametrize("change", [misspell, number_for_text, leave_out_kind])
@pytest.mark.parametrize("engine", EXAMPLES)
def test_a_wrong_manifest_does_not(engine: str, change: Callable[[Any], None]) -> None:
    document = copy.deepcopy(manifest(engine))
    change(document)
    with pytest.raises(jsonschema.ValidationError):
        check(engine, document)


@pytest.mark.parametrize("engine", EXAMPLES)
def test_volumes_that_are_mounted_are_there(engine: str) -> None:
    spec = manifest(engine)["spec"]
    pods = [spec["podTemplate"]["spec"]] if engine == "flink" else [spec]
    names = {volume["name"] for pod in pods for volume in pod["volumes"]}
    containers = pods[0]["containers"] if engine == "flink" else [spec["driver"], spec["executor"]]
    assert all({mount["name"] for mount in one["volumeMounts"]} == names for one in containers)


@pytest.mark.parametrize("engine", EXAMPLES)
def test_the_job_is_an_example_with_arguments_that_it_takes(engine: str) -> None:
    spec = manifest(engine)["spec"]
    if engine == "flink":
        after = spec["job"]["args"].index("-py")
        script, *arguments = spec["job"]["args"][after + 1 :]
    else:
        script, arguments = spec["mainApplicationFile"].removeprefix("local://"), spec["arguments"]
    assert script == f"/opt/job/{EXAMPLES[engine]}"
    command = [sys.executable, str(ROOT / "examples" / EXAMPLES[engine])]
    assert subprocess.run([*command, *arguments, "--help"], capture_output=True, check=False).returncode == 0
    unknown = subprocess.run([*command, *arguments, "one", "too", "many"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, "unrecognized arguments: one too many" in unknown.stderr) == (2, True)


def test_what_the_manifests_start_is_in_the_image() -> None:
    dockerfile = (ROOT / "compose" / "Dockerfile").read_text(encoding="utf-8")
    configuration = manifest("flink")["spec"]["flinkConfiguration"]
    entry = Path(configuration["kubernetes.entry.path"])
    assert entry.parent == Path("/opt/cluster/bin")
    assert (ROOT / "compose" / "bin" / entry.name).stat().st_mode & 0o111
    assert configuration["kubernetes.flink.conf.dir"] in (ROOT / "compose/bin/flink-pod").read_text(encoding="utf-8")
    for name in ("driver", "executor"):
        assert f"ln -s spark-pod /opt/cluster/bin/{name}" in dockerfile
    assert manifest("flink")["spec"]["job"]["jarURI"] == "local:///opt/flink/opt/flink-python.jar"
    assert "/opt/flink/opt/flink-python.jar" in dockerfile
    pinned = re.search(r"^pyspark==(\S+)", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert pinned is not None
    assert manifest("spark")["spec"]["sparkVersion"] == pinned[1]


def test_a_pod_of_flink_finds_its_scripts_and_its_libraries(tmp_path: Path) -> None:
    """``flink-pod`` runs what it is given, with this environment's PyFlink in the image's place."""
    import pyflink

    home = Path(pyflink.__file__).parent
    script = (
        (ROOT / "compose" / "bin" / "flink-pod").read_text(encoding="utf-8").replace("/opt/flink\n", f"{tmp_path}\n")
    )
    for folder in ("lib", "bin"):
        (tmp_path / folder).symlink_to(home / folder)
    (tmp_path / "opt").mkdir()
    (jar,) = (home / "opt").glob("flink-python-*.jar")
    (tmp_path / "opt" / "flink-python.jar").symlink_to(jar)
    asked = 'command -v kubernetes-jobmanager.sh; ls "$FLINK_LIB_DIR"; echo "$FLINK_CONF_DIR"'
    ran = subprocess.run(
        ["sh", "-c", script, "flink-pod", "bash", "-c", asked], capture_output=True, text=True, check=True
    )
    found = ran.stdout.split()
    assert found[0] == f"{tmp_path}/bin/kubernetes-jobmanager.sh"
    assert found[-1] == "/opt/flink-conf"
    assert {"flink-python.jar", *(path.name for path in (home / "lib").glob("*.jar"))} == set(found[1:-1])
