"""The jar of Sash's Java operators: found, or compiled against the jars of a Flink that is there.

Wheels have the jar in them. Where one was built without a JDK, it is compiled when it is first needed. This module
imports nothing but the standard library, because the build of the wheel (``hatch_build.py``) and ``scripts/flink-jar``
run it as a file, without PyFlink.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["JAR", "CannotBuild", "build", "compiler", "ensure", "flink_folders", "is_current"]

HERE = Path(__file__).resolve().parent
JAR = HERE / "lib" / "sash-flink.jar"
_MANIFEST, _KEY = "META-INF/MANIFEST.MF", "Sash-Sources"
HINT = "On Debian and Ubuntu: apt-get install openjdk-17-jdk-headless (or default-jdk-headless)"


class CannotBuild(RuntimeError):
    """What is missing, and how to get it."""


def sources() -> list[Path]:
    """The Java files: beside the package in a checkout, inside of it where it is installed."""
    folder = HERE / "java" if (HERE / "java").is_dir() else HERE.parent / "java"
    return sorted(folder.rglob("*.java"))


def digest() -> str:
    """Of the texts of the sources."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources())).hexdigest()


def is_current(jar: Path = JAR) -> bool:
    """Whether the jar is there and of these sources."""
    if not jar.is_file():
        return False
    with zipfile.ZipFile(jar) as archive:
        return f"{_KEY}: {digest()[:40]}" in archive.read(_MANIFEST).decode().splitlines()


def compiler() -> str | None:
    """The Java compiler: that of JAVA_HOME, or else the one on PATH; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "javac") if home else "javac")


def flink_folders(more: Sequence[Path] = ()) -> list[Path]:
    """Where a Flink with its jars is: FLINK_HOME, PyFlink of this environment, or one of ``more`` environments."""
    spec = importlib.util.find_spec("pyflink")
    places = [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []
    places.append(Path(sysconfig.get_path("purelib")) / "pyflink")  # hidden from an isolated build, but there
    places += [place for folder in more for place in sorted(folder.glob("lib/python3*/site-packages/pyflink"))]
    if home := os.environ.get("FLINK_HOME"):
        places.insert(0, Path(home))
    return [place for place in dict.fromkeys(places) if any((place / "lib").glob("flink-dist*.jar"))]


def build(jar: Path, flink: Path, javac: str, options: Sequence[str] = ()) -> None:
    """Compile the sources into a jar, which appears whole or not at all."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        classpath = os.pathsep.join(f"{flink}/{part}/*" for part in ("lib", "opt"))
        files = [str(path) for path in sources()]
        command = [javac, "--release", "11", *options, "-d", folder, "-cp", classpath, *files]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)
        if compiled.returncode:
            raise CannotBuild(f"{javac} cannot compile Sash's Flink operators:\n{compiled.stdout}{compiled.stderr}")
        sys.stderr.write(compiled.stderr)
        _pack(Path(folder), jar)


def _pack(classes: Path, jar: Path) -> None:
    """No times, so that the same sources give the same jar; Java's own ``jar`` is not in every JDK package."""
    new = jar.with_name(f"{jar.name}.{os.getpid()}.new")
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        manifest = f"Manifest-Version: 1.0\nCreated-By: sash\n{_KEY}: {digest()[:40]}\n\n"
        archive.writestr(zipfile.ZipInfo(_MANIFEST), manifest)
        for path in sorted(classes.rglob("*.class")):
            archive.writestr(zipfile.ZipInfo(path.relative_to(classes).as_posix()), path.read_bytes())
    os.replace(new, jar)


def ensure(jar: Path = JAR, more: Sequence[Path] = (), options: Sequence[str] = ()) -> None:
    """Build the jar unless it is current. What is missing for it is a :class:`CannotBuild`."""
    if is_current(jar):
        return
    if (javac := compiler()) is None:
        raise CannotBuild(f"Sash's Flink operators need a JDK 17 or newer: javac on PATH or in JAVA_HOME. {HINT}")
    folders = flink_folders(more)
    if not folders:
        raise CannotBuild(
            "Sash's Flink operators are compiled against Flink's jars, and there are none: install apache-flink, or "
            "name a Flink distribution in FLINK_HOME"
        )
    build(jar, folders[0], javac, options)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(not is_current())
    try:
        ensure(options=["-Xlint:all,-serial,-classfile,-path", "-Werror"])
    except CannotBuild as error:
        sys.exit(str(error))
