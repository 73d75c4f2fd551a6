"""The parser of command lines: what a function takes can be given, and what it does not take is told in a sentence."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpa.cli import VERBS, _load, run
from vgpa.cli.parse import Arg, parse
from vgpa.errors import InputError

Capture = pytest.CaptureFixture[str]
PARSED = sorted(set(VERBS) - {"train"})
"""Verbs whose options are read here."""
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(lambda w: w[0] != "-")


def sample(
    place: Annotated[Path, Arg("where", "PLACE", is_positional=True)],
    output: Annotated[Path, Arg("result", "DIR", alias="-o")],
    count: Annotated[int, Arg("how many")] = 3,
    word: Annotated[str, Arg("what, 100%")] = "",
    maybe: Annotated[int | None, Arg("a number, perhaps")] = None,
    colour: Annotated[Literal["red", "green"] | None, Arg("which colour")] = None,
    size: Annotated[Literal["small", "large"], Arg("which size", "SIZE")] = "small",
    names: Annotated[tuple[str, ...], Arg("several")] = (),
    import_: Annotated[tuple[str, ...], Arg("several, one by one", is_repeated=True)] = (),
    is_big: Annotated[bool, Arg("a flag", alias="-b")] = False,
    keep: Annotated[bool, Arg("a flag to take back")] = True,
) -> int:
    """Take all kinds of parameters."""
    return 0


DEFAULTS = {name: p.default for name, p in inspect.signature(sample).parameters.items()} | {
    "place": Path("a"),
    "output": Path("b"),
}


def parsed(*words: str) -> dict[str, Any]:
    return parse(sample, "vgpa sample", ["a", "-o", "b", *words])


def refused(*words: str) -> str:
    with pytest.raises(InputError) as caught:
        parse(sample, "vgpa sample", list(words))
    assert "`vgpa sample --help`" in caught.value.hint
    assert caught.value.exit_code == 2
    return str(caught.value)


class TestValues:
    """What is given arrives; what is not is as the function says."""

    def test_defaults(self) -> None:
        assert parsed() == DEFAULTS

    @given(WORDS, st.integers(), st.lists(WORDS.filter(lambda w: w != "--"), max_size=3))
    def test_round_trip(self, word: str, number: int, names: list[str]) -> None:
        given_words = ["--word", word, "--count", str(number), "--maybe", str(number), "--names", *names]
        expected = {"word": word, "count": number, "maybe": number, "names": tuple(names)}
        assert parsed(*given_words) == DEFAULTS | expected

    @given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
    def test_any_value_can_follow_an_equals_sign(self, word: str) -> None:
        assert parsed(f"--word={word}")["word"] == word

    @pytest.mark.parametrize(
        ("words", "name", "value"),
        [
            ("--colour green", "colour", "green"),
            ("--size=large", "size", "large"),
            ("-b", "is_big", True),
            ("--is-big", "is_big", True),
            ("--is_big", "is_big", True),
            ("--no-keep", "keep", False),
            ("--no_keep", "keep", False),
            ("--keep", "keep", True),
            ("--count -4", "count", -4),
            ("--names a b", "names", ("a", "b")),
            ("--names a --names b", "names", ("a", "b")),
            ("--import x=1 --import y=2", "import_", ("x=1", "y=2")),
            ("--word=a_b=c_d", "word", "a_b=c_d"),
        ],
    )
    def test_spellings(self, words: str, name: str, value: object) -> None:
        assert parsed(*words.split()) == DEFAULTS | {name: value}

    @pytest.mark.parametrize("words", ["-b a -o b", "-o b a -b", "--output=b a -b", "-ob -b a", "--import i -o b -b a"])
    def test_options_come_before_or_after_what_has_a_place(self, words: str) -> None:
        given_words = parse(sample, "vgpa sample", words.split())
        assert given_words | {"import_": ()} == DEFAULTS | {"is_big": True}

    def test_what_follows_two_dashes_is_no_option(self) -> None:
        assert parse(sample, "vgpa sample", ["-o", "b", "--", "--my_place"])["place"] == Path("--my_place")


class TestRefusal:
    """What cannot be understood: which argument it is, what is allowed, and where to read more."""

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            ("a", ["-o/--output"]),
            ("", ["PLACE", "-o/--output"]),
            ("a -o", ["-o/--output"]),
            ("a -o b --count many", ["--count", "many", "int"]),
            ("a -o b --colour rd", ["--colour", "rd", "red", "green"]),
            ("a -o b --size tiny", ["--size", "tiny", "small", "large"]),
            ("a b -o c", ["b"]),
            ("a -o b --cuont 3", ["--cuont is no option of vgpa sample. Did you mean --count?"]),
            ("--cuont 3", ["--cuont"]),
            ("a -o b --cuont=3", ["--cuont is no", "--count?"]),
            ("a -o b --no_kep", ["--no-kep is no", "--no-keep?"]),
            ("a -o b --cou 3", ["--cou is no"]),
            ("a -o b -x", ["-x is no option"]),
            ("a -o b --no-is-big", ["--no-is-big is no option"]),
        ],
    )
    def test_it_is_told(self, words: str, told: list[str]) -> None:
        sentence = refused(*words.split())
        for piece in told:
            assert piece in sentence

    def test_no_guess_where_nothing_is_alike(self) -> None:
        assert "Did you mean" not in refused("a", "-o", "b", "--zzzzzz")


def test_help_tells_defaults_but_not_of_nothing(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ending:
        parse(sample, "vgpa sample", ["--help"])
    assert ending.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: vgpa sample [-h] [OPTIONS] PLACE -o DIR\n\nTake all kinds of parameters.\n")
    for piece in ("what, 100%\n", "(default: 3)", "(default: yes)", "which size: small, large (default: small)"):
        assert piece in text
    assert "{red,green}" in text
    assert text.count("default") == 3
    assert text.count("(required)") == 2


@pytest.mark.parametrize("verb", PARSED)
def test_help_lists_every_parameter(verb: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as ending:
        run([verb, "--help"])
    assert ending.value.code == 0
    text = capsys.readouterr().out
    function = _load(verb)
    assert str(inspect.getdoc(function)) in text
    for name, hint in get_type_hints(function, include_extras=True).items():
        if name != "return":
            (arg,) = hint.__metadata__
            shown = arg.metavar if arg.is_positional else "--" + name.strip("_").replace("_", "-")
            assert shown in text
            assert arg.help in text


class TestTheWholeProgram:
    """`vgpa` itself."""

    def test_help_lists_every_verb_without_loading_anything_large(self) -> None:
        code = (
            "import sys, vgpa.cli\n"
            "try: vgpa.cli.run(['--help'])\n"
            "finally: print({'numpy', 'rich', 'importlib.metadata', 'asyncio'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0
        assert done.stdout.endswith("set()\n")
        for verb in VERBS:
            assert f"\n  {verb} " in done.stdout

    def test_nothing_to_do(self, capsys: Capture) -> None:
        with pytest.raises(SystemExit) as ending:
            run([])
        assert ending.value.code == 2
        assert "reconstruct" in capsys.readouterr().err

    @pytest.mark.parametrize(("verb", "meant"), [("maps", "map"), ("recontruct", "reconstruct"), ("--versio", "")])
    def test_a_verb_that_does_not_exist(self, verb: str, meant: str, capsys: Capture) -> None:
        assert run([verb, "--help"]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"vgpa: There is no command {verb}. ")
        assert error.count("\n") == 1
        assert (f"Did you mean {meant}?" in error) == bool(meant)

    def test_a_mistake_is_one_line(self, capsys: Capture) -> None:
        assert run(["map", "--sed", "3"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err == (
            "vgpa: --sed is no option of vgpa map. Did you mean --seed? `vgpa map --help` lists all options.\n"
        )
