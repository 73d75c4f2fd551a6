"""The commands that README and documentation show, and where the suite runs each.

`test_commands` runs them as they stand, `test_small_forms` runs the small forms of those that take long, and the others
are tied to a test elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
OURS = re.compile(r"(VGPA_DATA=\S+ )?(vgpa|python|pip|make|torchrun) ")
"""Commands of other programs are shown too, to compare with."""

ELSEWHERE = {
    r"pip install .*": "Makefile",
    r"make (demo|test)": "Makefile",
    r"vgpa view .*": "tests/viewer/test_serve.py::test_it_serves_a_page_on_this_machine",
    r"vgpa import-hloc .*": "tests/frontend/test_hloc.py::test_import_and_map",
    r"vgpa map hloc.db .*": "tests/frontend/test_hloc.py::test_import_and_map",
    r"vgpa map scene.npz.*": "tests/frontend/test_resfm.py::test_the_mapper_takes_it",
    r"vgpa map database.db": "tests/cli/test_cli.py::test_the_output_folder_is_complete",
    r"vgpa reconstruct .* --shard .*": "tests/docs/test_commands.py::test_shares",
    r"vgpa reconstruct .* --executor ray": (
        "tests/compute/test_executor.py::test_two_ray_workers_build_the_same_database"
    ),
    r"vgpa evaluate .* --dataset .*": "tests/evaluate/test_command_line.py::test_a_reference_in_every_layout",
    r"vgpa baseline .*": "tests/baselines/test_baselines.py::test_the_command_writes_a_model_and_says_so",
    r"vgpa benchmark .* --import .*": "tests/benchmark/test_tables.py::test_a_damaged_scene_is_skipped_and_said",
    r"vgpa benchmark .* glomap_plus.py": "tests/benchmark/test_tables.py::test_the_documented_method_stands_in_a_table",
    r"vgpa benchmark auc": "tests/benchmark/test_tables.py::test_tracks_of_1dsfm_and_resfm_fill_their_tables",
    r"vgpa benchmark .*": "tests/benchmark/test_tables.py::test_photos_of_strecha_and_blendedmvs_fill_their_table",
    r"vgpa export .* --metric .*": "tests/report/export/test_run.py::test_a_run_remembers_where_its_photos_were_taken",
    r"vgpa export .* --gps .*": "tests/report/export/test_run.py::test_a_table_of_positions_makes_metres",
    r"vgpa train --help": "tests/train/test_command_line.py::test_help_names_every_option",
    r"python -m vgpa.train.*": (
        "tests/train/test_command_line.py::test_it_runs_where_the_mapper_and_the_fine_clothes_are_missing"
    ),
    r"torchrun .* -m vgpa.train .*": "tests/docs/test_commands.py::test_torchrun",
    r"python examples/quick_start.py photos out": "tests/examples/test_examples.py::test_quick_start",
    r"vgpa COMMAND --help": "tests/docs/test_commands.py::test_shown_options_exist",
}


def collect() -> dict[str, str]:
    """Every command that is shown, and the page that shows it (first)."""
    shown: dict[str, str] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```\w*\n(.*?)^```|((?:^ {4}.*\n)+)", text, re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in "".join(block).splitlines()]
        spans = [
            " ".join(span.split())
            for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", re.sub(r"(?ms)^```.*?^```", "", text))
        ]
        for candidate in (*lines, *(span for span in spans if len(span.split()) > 2)):
            command = re.sub(r"\s+#.*", "", candidate).strip()
            if OURS.match(command):
                shown.setdefault(" ".join(command.split()), page.name)
    return shown


def covering_test(command: str) -> str | None:
    """The test elsewhere that runs a command, if there is one."""
    return next((test for pattern, test in ELSEWHERE.items() if re.fullmatch(pattern, command)), None)
