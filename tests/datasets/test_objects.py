"""Arrays of Python objects are read as data: the same values as numpy's, and nothing a file names is ever run."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vgpa.datasets.objects import array_names, read_array

FILE = "scene.npz"


def objects(*values: object) -> np.ndarray:
    array = np.full(len(values), None, dtype=object)
    array[:] = values
    return array


def write_pickle(path: Path, program: bytes, num: int) -> None:
    """An npz whose array x is made of the given program."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": (num,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", stream.getvalue() + program)


@given(st.lists(st.one_of(st.none(), st.text(), st.integers(), st.floats(allow_nan=False)), max_size=20))
def test_strings_and_numbers_come_back(tmp_path_factory: pytest.TempPathFactory, values: list[object]) -> None:
    path = tmp_path_factory.mktemp("objects") / FILE
    np.savez(path, x=objects(*values))
    assert read_array(path, "x") == values


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_matrices_come_back_from_every_protocol(tmp_path: Path, protocol: int) -> None:
    matrices = [
        np.eye(3),
        np.arange(16, dtype=">f4").reshape(4, 4),
        np.asfortranarray([[1, 2], [3, 4]]),
        np.array(["é"]),
    ]
    values = objects(*matrices, np.float32(0.5), None, "a/b.jpg")
    write_pickle(tmp_path / FILE, pickle.dumps(values, protocol=protocol), len(values))
    read = read_array(tmp_path / FILE, "x")
    for ours, theirs in zip(read[:4], matrices, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert read[4:] == [0.5, None, "a/b.jpg"]


def test_plain_arrays_come_back(tmp_path: Path) -> None:
    np.savez(tmp_path / FILE, a=np.eye(3), b=np.array(["x", "yz"]))
    assert array_names(tmp_path / FILE) == {"a", "b"}
    np.testing.assert_array_equal(read_array(tmp_path / FILE, "a"), np.eye(3))
    with pytest.raises(ValueError, match="no array 'c'"):
        read_array(tmp_path / FILE, "c")


class Hostile:
    """Writes a file when it is unpickled."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.victim),)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_nothing_is_run(tmp_path: Path, protocol: int) -> None:
    program = pickle.dumps(objects(Hostile(tmp_path / "victim")), protocol=protocol)
    write_pickle(tmp_path / FILE, program, 1)
    with pytest.raises(ValueError, match="not plain data"):
        read_array(tmp_path / FILE, "x")
    assert not (tmp_path / "victim").exists()
    # The same file does run in pickle itself, so that the test can fail.
    pickle.loads(program)
    assert (tmp_path / "victim").exists()


def test_types_that_could_forge_pointers_are_refused(tmp_path: Path) -> None:
    """numpy itself trusts flags and type codes of a file; here a type is one of a few plain ones."""
    array = objects(np.zeros(2, dtype=[("a", "O")]))
    np.savez(tmp_path / FILE, x=array)
    with pytest.raises(ValueError, match=r"is not read|not plain data"):
        read_array(tmp_path / FILE, "x")


def test_a_small_program_cannot_describe_something_huge(tmp_path: Path) -> None:
    """Two hundred pairs, each of the one before it twice: written out, they would fill any memory."""
    pair: tuple[object, ...] = ()
    for _ in range(200):
        pair = (pair, pair)
    program = pickle.dumps(pair, protocol=2)
    as_name = program[:-1] + b"\x8c\x01a\x93."
    as_type = b"\x80\x02cnumpy\ndtype\n" + program[2:-1] + b"\x85R."
    for hostile in (program, as_name, as_type):
        write_pickle(tmp_path / FILE, hostile, 1)
        with pytest.raises(ValueError, match=r"damaged|more than"):
            read_array(tmp_path / FILE, "x")


def test_damaged_programs_raise_only_what_readers_expect(tmp_path: Path) -> None:
    program = pickle.dumps(objects(np.eye(3), "name", None), protocol=4)
    rng = np.random.default_rng(0)
    num_refused = 0
    for _ in range(500):
        damaged = bytearray(program)
        damaged[rng.integers(len(program))] = rng.integers(256)
        write_pickle(tmp_path / FILE, bytes(damaged[: rng.integers(1, len(program) + 1)]), 3)
        try:
            read_array(tmp_path / FILE, "x")
        except (ValueError, LookupError):
            num_refused += 1
    assert num_refused > 300
