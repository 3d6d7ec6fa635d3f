"""``sash completion``: what makes a shell complete the commands and options of ``sash``, from the parser itself."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

__all__ = ["add"]

_SCRIPT = """\
# {how}
{prelude}_sash() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "$command $before" in
{choices}
        *) case "$command" in
{options}
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _sash sash
"""
_SHELLS = {
    "bash": ('eval "$(sash completion bash)" in ~/.bashrc', ""),
    "zsh": ('eval "$(sash completion zsh)" in ~/.zshrc', "autoload -U +X bashcompinit && bashcompinit\n"),
}


def add(commands: Any) -> None:
    """Add ``completion`` to the commands."""
    parser = commands.add_parser(
        "completion",
        help="complete commands in a shell",
        description='Print what makes a shell complete the commands of sash, such as eval "$(sash completion bash)".',
    )
    parser.add_argument("shell", choices=sorted([*_SHELLS, "fish"]))
    parser.set_defaults(command=lambda options: print(_script(options.shell, commands.choices), end=""))


def _script(shell: str, commands: dict[str, argparse.ArgumentParser]) -> str:
    """The script for the commands that there are when it is asked for."""
    if shell == "fish":
        return "".join(f"{line}\n" for line in _fish(commands))
    how, prelude = _SHELLS[shell]
    return _SCRIPT.format(
        how=how,
        prelude=prelude,
        commands=" ".join(sorted(commands)),
        choices="\n".join(line for name, parser in commands.items() for line in _choices(name, parser)),
        options="\n".join(
            f'            {name}) words="{" ".join(_options(parser))}" ;;' for name, parser in commands.items()
        ),
    )


def _fish(commands: dict[str, argparse.ArgumentParser]) -> Iterator[str]:
    """fish has a line for each thing to complete, and says what it is."""
    yield "# sash completion fish | source   in ~/.config/fish/config.fish"
    for name, parser in commands.items():
        yield f"complete -c sash -n __fish_use_subcommand -xa {name} -d {_quoted(parser.description or '')}"
        for action in parser._actions:
            words = "" if action.choices is None else f" -xa {_quoted(' '.join(map(str, action.choices)))}"
            names = [option.lstrip("-") for option in action.option_strings]
            options = "".join(f" -{'s' if len(one) == 1 else 'l'} {one}" for one in names)
            if options or words:
                takes = " -r" if options and action.nargs != 0 and not words else ""
                told = f" -d {_quoted((action.help or '') % vars(action) if options else '')}"
                yield f"complete -c sash -n '__fish_seen_subcommand_from {name}'{options}{takes}{words}{told}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _choices(command: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """The values of options that take one of a few."""
    for action in parser._actions:
        if action.choices is not None and action.option_strings:
            patterns = "|".join(f'"{command} {option}"' for option in action.option_strings)
            yield f'        {patterns}) words="{" ".join(map(str, action.choices))}" ;;'


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a command, and the values of what it takes without one."""
    for action in parser._actions:
        if action.option_strings:
            yield from action.option_strings
        elif action.choices is not None:
            yield from map(str, action.choices)
