"""What wheels and the sdist contain, with a JDK and without one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

import sash
from sash_flink import jar

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "sash": ROOT / "core" / "sash",
    "sash_flink": ROOT / "flink_adapter" / "sash_flink",
    "sash_spark": ROOT / "spark_adapter" / "sash_spark",
}
OURS = "sash_flink/lib/sash-flink.jar"


def build(source: Path, folder: Path, target: str, **variables: str) -> tuple[int, str, list[Path]]:
    """Build a distribution without isolation: the exit code, what is said, and the files."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    run = subprocess.run(
        command, cwd=source, env=os.environ | variables, capture_output=True, text=True, timeout=300, check=False
    )
    return run.returncode, run.stdout + run.stderr, sorted(folder.iterdir()) if folder.exists() else []


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def without_compiler(folder: Path) -> dict[str, str]:
    """An environment in which there is no JDK."""
    folder.mkdir()
    return {"PATH": str(folder), "JAVA_HOME": str(folder)}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    code, said, (packed,) = build(ROOT, folder / "dist", "sdist", SASH_JAR="require")
    assert code == 0, said
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = [path for path in folder.iterdir() if path.name != "dist"]
    return unpacked


def test_the_wheel_has_the_three_packages_and_the_jar_and_nothing_else(sdist: Path, tmp_path: Path) -> None:
    code, said, (wheel,) = build(sdist, tmp_path / "dist", "wheel", **without_compiler(tmp_path / "empty"))
    assert code == 0, said
    expected = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package, folder in PACKAGES.items()
        for path in folder.rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    java = {f"sash_flink/java/{path.relative_to(ROOT / 'flink_adapter' / 'java')}" for path in jar.sources()}
    assert files_of(wheel) == expected | java | {OURS}
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(OURS) == jar.JAR.read_bytes()


def test_the_sdist_has_what_a_wheel_is_built_of(sdist: Path) -> None:
    for name in (
        "hatch_build.py",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        f"flink_adapter/{OURS}",
        "examples/vwap.py",
    ):
        assert (sdist / name).is_file(), name
    assert not list(sdist.rglob("test_*.py"))
    assert not (sdist / "experiments").exists()


def test_without_a_jdk_the_jar_is_left_out_and_that_is_said(sdist: Path, tmp_path: Path) -> None:
    source = shutil.copytree(sdist, tmp_path / "source")
    (source / "flink_adapter" / OURS).unlink()
    environment = without_compiler(tmp_path / "empty")
    code, said, (wheel,) = build(source, tmp_path / "dist", "wheel", **environment)
    assert code == 0, said
    assert "need a JDK 17 or newer" in said
    assert "Built without the jar" in said
    assert OURS not in files_of(wheel)
    code, said, built = build(source, tmp_path / "required", "wheel", SASH_JAR="require", **environment)
    assert (code != 0, built) == (True, [])
    assert "need a JDK 17 or newer" in said
    code, said, _ = build(source, tmp_path / "wrong", "wheel", SASH_JAR="yes", **environment)
    assert code != 0
    assert "SASH_JAR must be 'require' or 'skip'; got 'yes'" in said


def test_an_editable_install_only_points_to_the_sources(tmp_path: Path) -> None:
    backend = "import hatchling.build, sys; hatchling.build.build_editable(sys.argv[1])"
    environment = os.environ | without_compiler(tmp_path / "empty")
    (folder := tmp_path / "dist").mkdir()
    subprocess.run([sys.executable, "-c", backend, str(folder)], cwd=ROOT, env=environment, check=True, timeout=100)
    (wheel,) = folder.iterdir()
    assert files_of(wheel) == {"_sash.pth"}


def test_the_jar_of_another_source_is_built_anew(sdist: Path, tmp_path: Path) -> None:
    source = shutil.copytree(sdist, tmp_path / "source")
    changed = source / "flink_adapter" / "java" / "sash" / "flink" / "Buckets.java"
    changed.write_text(changed.read_text(encoding="utf-8") + "// changed\n", encoding="utf-8")
    code, said, (wheel,) = build(source, tmp_path / "dist", "wheel", SASH_JAR="require")
    assert code == 0, said
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(OURS) != jar.JAR.read_bytes()


def test_an_installation_without_the_jar_compiles_the_same_one(tmp_path: Path) -> None:
    jar.ensure(tmp_path / "lib" / "sash-flink.jar")
    assert (tmp_path / "lib" / "sash-flink.jar").read_bytes() == jar.JAR.read_bytes()
    assert [path.name for path in (tmp_path / "lib").iterdir()] == ["sash-flink.jar"]


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(jar.CannotBuild, match=r"need a JDK 17 or newer: javac on PATH or in JAVA_HOME"):
        jar.ensure(tmp_path / "sash-flink.jar")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr(jar, "flink_folders", lambda more: [])
    with pytest.raises(jar.CannotBuild, match=r"install apache-flink, or name a Flink distribution in FLINK_HOME"):
        jar.ensure(tmp_path / "sash-flink.jar")


def test_the_experiments_are_a_wheel_of_their_own(tmp_path: Path) -> None:
    code, said, (wheel,) = build(ROOT / "experiments", tmp_path / "dist", "wheel")
    assert code == 0, said
    files = files_of(wheel)
    assert {name.split("/")[0] for name in files} == {"sash_experiments"}
    assert "sash_experiments/page/report.html" in files


def test_all_that_names_the_version_names_the_same() -> None:
    projects = [tomllib.loads((ROOT / name / "pyproject.toml").read_text("utf-8")) for name in (".", "experiments")]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {citation["version"], *(project["project"]["version"] for project in projects)} == {sash.__version__}


def test_the_workflow_runs_what_continuous_integration_runs() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    commands = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert any(".ci/run" in command for command in commands)
    targets = {target for command in commands for target in re.findall(r"^make (\S+)", command, re.MULTILINE)}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets == {"docs", "test-python-3.13", "wheel"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert {"name", "description", "body"} <= yaml.safe_load(form.read_text(encoding="utf-8")).keys()


def test_every_variable_of_the_environment_is_documented() -> None:
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    folders = ("core", "flink_adapter", "spark_adapter", "experiments", "integration_tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*files, ROOT / "conftest.py", ROOT / "hatch_build.py"]]
    read = re.compile(r"""(?:environ(?:\.get)?[\[(]|getenv\()["'](SASH_\w+)""")
    named = {name for text in texts for name in read.findall(text)}
    assert {"SASH_COMPILE_ROWS", "SASH_JAR", "SASH_TESTS"} <= named
    assert [name for name in sorted(named) if f"`{name}`" not in page] == []
