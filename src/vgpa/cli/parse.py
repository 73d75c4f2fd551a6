"""Words of a command line to the parameters of a function, whose names, types and defaults say what can be given.

    def show(folder: Annotated[Path, Arg("what to show", "DIR", is_positional=True)], big: Annotated[bool, ...] = False)

is called as `show DIR --big`. What has no default must be given. A type is str, int, Path or a Literal, any of these
or None, or a tuple of any number of them; a bool is a flag, `--quiet`, and one that is True by default can be taken
back, `--no-quiet`. What cannot be understood raises a sentence for the user.

The standard library's argparse does the work: parsers that know more take longer to load than many a run.
"""

from __future__ import annotations

import argparse
import inspect
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import wrap
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from vgpa.errors import InputError


@dataclass(frozen=True)
class Arg:
    """What an annotation adds to the name, the type and the default of a parameter.

    Attributes:
        help: what it is, in a few words.
        metavar: what its value is called in the help; the name of its type, or the choices, unless given.
        alias: a short name beside the long one, such as "-o".
        is_positional: it is given by its place instead of its name.
        is_repeated: of several values, each has the option's name before it.
    """

    help: str
    metavar: str | None = None
    alias: str | None = None
    is_positional: bool = False
    is_repeated: bool = False


def parse(function: Callable[..., Any], command: str, words: list[str]) -> dict[str, Any]:
    """The parameters of a function by the words that follow the command. Asked for help, it prints it and exits."""
    parser = _Parser(prog=command, description=inspect.getdoc(function), allow_abbrev=False)
    known = {"-h", "--help"}
    required = []
    for names, settings in _arguments(function):
        action = parser.add_argument(*names, **settings)
        action.help = settings["help"]  # without the words that some versions of argparse add on the default
        known.update(action.option_strings)
        if action.required:
            required.append(" ".join([*names[:1], str(action.metavar)]) if action.option_strings else action.metavar)
    # The usage that argparse makes up names every option, as the list below it does.
    parser.usage = " ".join([command, "[-h] [OPTIONS]", *map(str, required)])
    end = words.index("--") if "--" in words else len(words)
    options = [_spelled_with_dashes(word) for word in words[:end]]
    _refuse_unknown(options, known, parser)
    values = vars(parser.parse_args(options + words[end:]))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def list_commands(program: str, description: str, commands: dict[str, Callable[..., Any]]) -> str:
    """The help of a program: its commands, each with what the docstring of its function says."""
    name_width = max(map(len, commands)) + 4
    width = shutil.get_terminal_size().columns
    lines = [f"usage: {program} COMMAND [-h] ...", "", description, "", "commands:"]
    for name, function in commands.items():
        first = f"  {name}".ljust(name_width)
        lines += wrap(inspect.getdoc(function) or "", width, initial_indent=first, subsequent_indent=" " * name_width)
    return "\n".join([*lines, "", f"`{program} COMMAND --help` lists the options of a command."])


def suggest(word: str, known: Iterable[str]) -> str:
    """The beginning of a hint: what may have been meant, if anything is spelled alike."""
    from difflib import get_close_matches

    close = get_close_matches(word, sorted(known), n=1)
    return f"Did you mean {close[0]}? " if close else ""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def error(self, message: str, hint: str = "") -> NoReturn:
        raise InputError(message[:1].upper() + message[1:], f"{hint}`{self.prog} --help` lists all options")


def _arguments(function: Callable[..., Any]) -> list[tuple[list[str], dict[str, Any]]]:
    """Names and settings of each parameter, as argparse takes them."""
    hints = get_type_hints(function, include_extras=True)
    arguments = []
    for name, parameter in inspect.signature(function).parameters.items():
        kind, arg = get_args(hints[name])
        is_required = parameter.default is parameter.empty
        settings = _value_settings(kind, arg, parameter.default)
        settings["help"] = _help(arg, settings)
        if arg.is_positional:
            arguments.append(([name], settings))
        else:
            names = [arg.alias] if arg.alias else []
            names.append("--" + name.strip("_").replace("_", "-"))
            arguments.append((names, settings | {"dest": name, "required": is_required}))
    return arguments


def _value_settings(kind: Any, arg: Arg, default: Any) -> dict[str, Any]:
    """Type or choices of a parameter, how many values it takes, and its default."""
    if kind is bool:
        return {"action": argparse.BooleanOptionalAction if default else "store_true", "default": default}
    if get_origin(kind) is tuple:
        settings = _value_settings(get_args(kind)[0], arg, list(default))
        return settings | {"action": "extend", "nargs": 1 if arg.is_repeated else "*"}
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
    if get_origin(kind) is Literal:
        choices = get_args(kind)
        return {"choices": choices, "metavar": arg.metavar or f"{{{','.join(choices)}}}", "default": default}
    return {"type": kind, "metavar": arg.metavar or kind.__name__.upper(), "default": default}


def _help(arg: Arg, settings: dict[str, Any]) -> str:
    """What an argument is, the choices that its metavar hides, and what holds when it is not given."""
    choices, default = settings.get("choices", ()), settings["default"]
    text = f"{arg.help}: {', '.join(choices)}" if arg.metavar and choices else arg.help
    if default is inspect.Parameter.empty:
        text += " (required)"
    elif default is True:
        text += " (default: yes)"
    elif default is not None and default is not False and default not in ("", []):
        text += f" (default: {default})"
    return text.replace("%", "%%")


def _spelled_with_dashes(word: str) -> str:
    """Options may be spelled with underscores, as the parameters are."""
    name, *value = word.split("=", 1)
    return "=".join([name.replace("_", "-"), *value]) if word.startswith("--") else word


def _refuse_unknown(options: list[str], known: set[str], parser: _Parser) -> None:
    """argparse would first ask for what is missing, though a mistyped option may be the reason that it is."""
    for word in options:
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        is_option = len(word) > 1 and word[0] == "-" and " " not in word and not (word[1].isdigit() or word[1] == ".")
        if is_option and name not in known:
            parser.error(f"{name} is no option of {parser.prog}", suggest(name, known))
