"""The build of the wheel and of the sdist: both get the jar of the Flink operators, if it can be compiled here.

``SASH_JAR=require`` fails where it cannot, and fetches Flink's jars for the compiler if there are none;
``SASH_JAR=skip`` leaves it out.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WAYS = ("", "require", "skip")


class FlinkJar(BuildHookInterface[Any]):
    """Compiles the jar before files are collected."""

    def dependencies(self) -> list[str]:
        """Flink's jars, where they are needed and there are none."""
        jar = self._module()
        missing = self._way == "require" and not jar.is_current() and jar.compiler() and not self._flink(jar)
        return ["apache-flink-libraries==2.3.*"] if missing else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install does without: ``scripts/flink-jar`` keeps its jar up to date."""
        if version == "editable":
            return
        if self.target_name == "wheel":
            build_data["force_include"]["flink_adapter/java"] = "sash_flink/java"
        if self._way == "skip":
            return
        jar = self._module()
        try:
            jar.ensure(more=[Path(self.root) / ".venv"])
        except jar.CannotBuild as error:
            if self._way == "require":
                raise
            self.app.display_warning(
                f"{error}\nBuilt without the jar: sash_flink will compile it when it is first used."
            )

    @property
    def _way(self) -> str:
        way = os.environ.get("SASH_JAR", "")
        if way not in WAYS:
            raise ValueError(f"SASH_JAR must be 'require' or 'skip'; got {way!r}")
        return way

    def _flink(self, jar: ModuleType) -> bool:
        return bool(jar.flink_folders([Path(self.root) / ".venv"]))

    def _module(self) -> ModuleType:
        """sash_flink/jar.py as a file: the package itself needs PyFlink."""
        path = Path(self.root) / "flink_adapter" / "sash_flink" / "jar.py"
        spec = importlib.util.spec_from_file_location("sash_flink_jar", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
