"""Small forms of commands that run for minutes to days: the same words, but small values after the same options.

A shown command therefore has a form that ends soon as long as a rule fits it, whatever options it shows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rule:
    """How commands that fit a pattern become small.

    Attributes:
        pattern: of the whole command, without a setting of VGPA_DATA and without brackets.
        values: what takes the place of the words after an option, or of words that fit a pattern; of several such
            words in a row one stays.
        more: further arguments, after the shown ones.
    """

    pattern: str
    values: dict[str, str] = field(default_factory=dict)
    more: str = ""


TRAINING = {
    **{"--network": "refine", "--width": "8", "--layers": "1", "--seed": "20", "--learning-rate": "1e-3"},
    **{"--steps": "2", "--minutes": "1", "--batch-size": "2", "--share-size": "2", "--processes": "2"},
    **{"--cameras": "cameras.npz", "--data": "graphs", "--val-data": "graphs"},
}
SMALL_WORLDS = "--cams 8 12 --small-cams 6 8 --val-graphs 2 --validate-every 1 --steps 2 --device cpu"
RULES = (
    Rule(r"vgpa train .*--init .*", TRAINING, SMALL_WORLDS),
    Rule(r"vgpa train .*--(width|layers) .*", TRAINING, SMALL_WORLDS),
    Rule(r"vgpa train .*", TRAINING, f"{SMALL_WORLDS} --width 8 --layers 1"),
    Rule(r"python benchmarks/ablation\.py run .*", {"--device": "cpu", "--processes": "1", "--worlds-per-kind": "0"}),
    Rule(r"python benchmarks/ablation\.py (export|table) .*"),
    Rule(r"python benchmarks/network\.py worlds --own .*", {"--own": "1"}, "--out network-results.md"),
    Rule(
        r"python benchmarks/network\.py worlds.*",
        {"--device": "cpu", "--processes": "1"},
        "--finetune-steps 2 --out network-results.md",
    ),
    Rule(r"python benchmarks/network\.py .*", {"--device": "cpu"}, "--out network-results.md"),
    Rule(r"python benchmarks/worlds\.py .*", more="--out ."),
    Rule(r"python benchmarks/reliability\.py .*", {"PART": "fuzz"}, "10 --out reliability.md"),
    Rule(r"python benchmarks/frontend\.py cost", more="demo --rounds 1"),
    Rule(r"python benchmarks/frontend\.py retrieval", more="--set demo --sizes 4 6"),
    Rule(r"python benchmarks/(frontend\.py quality|calibration\.py) --work DIR", more="demo"),
    Rule(r"python benchmarks/reintegration\.py", more="demo 0024-12-0 --out reintegration.md"),
    Rule(
        r"python benchmarks/simulated\.py .*",
        {"--images": "12", "--seeds": "0 1"},
        "0024 --methods fast --page simulated.md",
    ),
    Rule(
        r"python benchmarks/mapping\.py.*",
        {r"SCENE|[\w-]+\d|\.{3}": "demo", "--methods": "default", "--repeat": "1"},
        "--methods default --resume runs/records.jsonl --out .",
    ),
)


def small_form(command: str) -> str | None:
    """The small form, or None where no rule fits."""
    plain = re.sub(r"^VGPA_DATA=\S+ |[\[\]]", "", command)
    rule = next((rule for rule in RULES if re.fullmatch(rule.pattern, plain)), None)
    if rule is None:
        return None
    words: list[str] = []
    option = ""
    for word in plain.split():
        if word.startswith("-"):
            option = word
        value = rule.values.get(option) if word != option else None
        if value is None:
            value = next((new for old, new in rule.values.items() if re.fullmatch(old, word) and word != option), word)
        if value == word or words[-1] != value:
            words.append(value)
    return " ".join([*words, rule.more]).strip()


def options(command: str) -> set[str]:
    """The options that a command shows."""
    return set(re.findall(r"(?<=[\s\[])--?[a-z][a-z0-9-]*", command))
