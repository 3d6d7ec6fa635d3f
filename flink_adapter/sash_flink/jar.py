"""Sash's operators in the JVM: their jar, and how a job has it."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pyflink.common import Configuration
from pyflink.java_gateway import get_gateway
from pyflink.util.java_utils import add_jars_to_context_class_loader, get_j_env_configuration

__all__ = ["jvm", "load_jar"]

_HELD = ExitStack()


@cache
def _jar() -> Path:
    """The operators' jar; where Sash itself is in an archive, as a file for as long as this process runs."""
    packed = resources.files("sash_flink") / "lib" / "sash-flink.jar"
    if not packed.is_file():
        raise FileNotFoundError(f"{packed} is missing: in a checkout of Sash, scripts/flink-jar builds it")
    atexit.register(_HELD.close)
    return _HELD.enter_context(resources.as_file(packed))


def jvm() -> Any:
    """The package of Sash's operators."""
    return get_gateway().jvm.sash.flink


def load_jar(j_env: Any) -> None:
    """Have Sash's operators in a job."""
    url = _jar().resolve().as_uri()
    add_jars_to_context_class_loader([url])
    j_settings = get_j_env_configuration(j_env)
    jars = Configuration.parse_list_value(j_settings.toMap().get("pipeline.jars"))
    if url not in jars:
        j_settings.setString("pipeline.jars", str([*jars, url]))
