"""A Griffe extension: docstrings, which are written for ``help()``, as Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_DOCTEST = re.compile(r"^(?P<indent> *)>>> .*\n?(?:^(?! *$).*\n?)*", re.MULTILINE)
_LITERAL = re.compile(r"::$", re.MULTILINE)


def markdown(text: str) -> str:
    """Fence doctests, and turn the roles and literal blocks of reStructuredText into Markdown."""
    text = re.sub(r"  # doctest: .*$", "", text, flags=re.MULTILINE)
    text = _DOCTEST.sub(lambda found: f"{found['indent']}```pycon\n{found[0].rstrip()}\n{found['indent']}```\n", text)
    return _LITERAL.sub(":", _ROLE.sub(r"`\1`", text)).rstrip()


class Docstrings(griffe.Extension):
    """Changes every docstring that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
