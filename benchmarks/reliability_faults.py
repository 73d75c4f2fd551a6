"""Faults in the middle of runs: what the program says, what it leaves behind, and what the rerun makes of it.

Part of `reliability.py`. Every trial starts a run in a process of its own, disturbs it, looks at the folder it left,
runs the same command again without the disturbance, and compares the result with that of an undisturbed run: the rows
of the database and the files of the model, byte by byte.
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from reliability_runs import (
    Reference,
    Run,
    complaint_about_folder,
    difference,
    forget_matches,
    has_result,
    interrupt,
    kill_ray_worker,
    reference_run,
    run_to_end,
    tmpfs,
)

from tests.hostile.originals import make_walk

NUM_KILLS, NUM_INTERRUPTS, NUM_FULL, NUM_WORKERS, NUM_RAY = 60, 12, 12, 6, 3
MEMORY_LIMITS_MB = (200, 400, 600, 800, 1000, *range(1024, 1044, 2))
"""The first ones are refused at once, with the last ones memory runs out on the way, or suffices just so."""


@dataclass(frozen=True)
class Trial:
    """What came of one disturbed run.

    Attributes:
        is_disturbed: whether the fault came before the run had ended.
        complaint: what is wrong with what it said, with its folder, or with the rerun; None if nothing.
        is_equal: whether the rerun ended well, with the result of the undisturbed run.
        is_rematched: whether it had that result only when the pairs were matched once more.
        is_lost: whether a result that was there before is not there any more.
        is_clear: whether a sentence said what happened.
    """

    is_disturbed: bool
    complaint: str | None
    is_equal: bool
    is_rematched: bool
    is_lost: bool
    is_clear: bool


Disturb = Callable[[Reference, Path, int], Run]
"""A disturbed run on the reference's photos into the folder; the number says which try it is."""


def measure() -> str:
    """The section of the page."""
    rows = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_walk(folder / "photos", range(0, 10, 2), num_views=64, size_px=(270, 180))
        reference = reference_run(folder / "photos", folder / "reference")
        for title, (num, disturb) in FAULTS.items():
            trials = [_try(reference, folder / "out", disturb, k) for k in range(num)]
            rows.append(_row(title, trials))
            print(rows[-1])
    return "\n".join(
        [
            f"Runs of `vgpa reconstruct` on five photos ({reference.seconds:.1f} s undisturbed), each disturbed once. "
            "After each, the folder is checked (the database by sqlite, models and reports by reading them), the same "
            "command is given again, and its database and model are compared with those of the undisturbed run, byte "
            "by byte. Every second trial hits a folder that holds the result of an earlier run, which must stay until "
            "the new one is complete. SIGKILL leaves a process no time for words: there the small process that draws "
            "the bars speaks in its place, unless the program was still being loaded. Undisturbed runs are not always "
            "equal either: three times in hundreds of runs, with several threads, pycolmap's matcher lost matches of a "
            "few pairs. Where matches differ, the pairs are therefore matched once more before a "
            "run counts as unequal, and the table says so.",
            "",
            "| fault | tries | hit before the end | clear message | data lost | rerun is equal | complaints |",
            "|---|---|---|---|---|---|---|",
            *rows,
        ]
    )


def _row(title: str, trials: list[Trial]) -> str:
    hit = [trial for trial in trials if trial.is_disturbed]
    complaints = "; ".join(sorted({trial.complaint for trial in trials if trial.complaint is not None})) or "none"
    num_clear = sum(trial.is_clear for trial in hit)
    num_lost = sum(trial.is_lost for trial in trials)
    num_rematched = sum(trial.is_rematched and trial.is_equal for trial in trials)
    equal = f"{sum(trial.is_equal for trial in trials)} of {len(trials)}"
    equal += f" ({num_rematched} after matching once more)" if num_rematched else ""
    clear = f"{num_clear} of {len(hit)}"
    lost = "none" if num_lost == 0 else str(num_lost)
    return f"| {title} | {len(trials)} | {len(hit)} | {clear} | {lost} | {equal} | {complaints} |"


def _try(reference: Reference, out: Path, disturb: Disturb, number: int) -> Trial:
    shutil.rmtree(out, ignore_errors=True)
    had_result = number % 2 == 1
    if had_result:
        shutil.copytree(reference.folder, out)
        _force_work(out)
    run = disturb(reference, out, number)
    complaint = run.complaint() or complaint_about_folder(out)
    is_lost = had_result and not has_result(out)
    unequal = _run_and_compare(reference, out)
    is_rematched = unequal in ("matches differ", "pairs differ")
    if is_rematched:
        forget_matches(out)
        unequal = _run_and_compare(reference, out)
    if unequal is not None:
        complaint = f"{complaint}; the rerun: {unequal}" if complaint else f"the rerun: {unequal}"
    return Trial(run.is_hit, complaint, unequal is None, is_rematched, is_lost, run.is_clear)


def _run_and_compare(reference: Reference, out: Path) -> str | None:
    """Run once without a disturbance; what is not as it should be then, if anything."""
    run = run_to_end(reference.command(out))
    ended_badly = None if run.exit_code == 0 else f"it ended with code {run.exit_code}"
    return run.complaint() or ended_badly or difference(reference.folder, out)


def _force_work(out: Path) -> None:
    """Take the database of a finished run away, so that there is something to disturb; its result stays."""
    for path in out.glob("database.db*"):
        path.unlink()


def _kill(reference: Reference, out: Path, number: int) -> Run:
    return interrupt(reference.command(out), signal.SIGKILL, reference.moment(number))


def _stop(reference: Reference, out: Path, number: int) -> Run:
    return interrupt(reference.command(out), signal.SIGINT, reference.moment(number))


def _small_memory(reference: Reference, out: Path, number: int) -> Run:
    return run_to_end(reference.command(out), memory_mb=MEMORY_LIMITS_MB[number])


def _full_file_limit(reference: Reference, out: Path, number: int) -> Run:
    """The system refuses to let a file grow beyond a size, as a quota does: some part of the database or the report."""
    whole = reference.database_size if number // 2 % 2 == 0 else reference.largest_file
    return run_to_end(reference.command(out), file_size=int(whole * (number + 1) / (NUM_FULL + 1)))


def _full_disk(reference: Reference, out: Path, number: int) -> Run:
    """A disk of its own, too small for the result; what is left on it is copied out before it is unmounted."""
    size = int(reference.total_size * (number + 1) / (NUM_FULL + 1))
    used = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.is_dir() else 0
    with tmpfs(size + used) as disk:
        place = disk / "out"
        if out.is_dir():
            shutil.copytree(out, place)
        run = run_to_end(reference.command(place))
        shutil.rmtree(out, ignore_errors=True)
        if place.is_dir():
            shutil.copytree(place, out)
    return run


def _read_only(reference: Reference, out: Path, number: int) -> Run:
    out.mkdir(parents=True, exist_ok=True)
    with _closed(out):
        return run_to_end(reference.command(out))


@contextmanager
def _closed(folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o755)


def _kill_share(reference: Reference, out: Path, number: int) -> Run:
    """A worker of a batch system, which computes one of two shares of the features, is killed."""
    share = ("--shard", f"{1 + number % 2}/2", "--step", "features")
    moment_s = Random(number).uniform(0.2, 0.6) * reference.seconds
    return interrupt([*reference.command(out), *share], signal.SIGKILL, moment_s)


def _kill_worker(reference: Reference, out: Path, number: int) -> Run:
    return kill_ray_worker([*reference.command(out), "--executor", "ray"])


FAULTS: dict[str, tuple[int, Disturb]] = {
    "SIGKILL": (NUM_KILLS, _kill),
    "SIGINT (Ctrl-C)": (NUM_INTERRUPTS, _stop),
    "disk full (its own file system)": (NUM_FULL, _full_disk),
    "file size limit": (NUM_FULL, _full_file_limit),
    "memory limit": (len(MEMORY_LIMITS_MB), _small_memory),
    "read-only output folder": (2, _read_only),
    "SIGKILL of a batch worker in its share": (NUM_WORKERS, _kill_share),
    "Ray worker killed in its share": (NUM_RAY, _kill_worker),
}
