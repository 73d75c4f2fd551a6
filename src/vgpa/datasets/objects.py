"""Arrays of npz files, those of Python objects too, without ever running what a file says.

numpy writes an array of strings or of small matrices as a pickle, which is a program: loading it can run any code. Here
the program is read, not run. A stack machine of our own knows numbers, strings, None and numpy's own arrays; anything
else (a class, a function, an opcode that has no use here) is refused by name.
"""

from __future__ import annotations

import io
import math
import pickletools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vgpa.datasets.reference import BROKEN

MAX_NUM_BYTES = 2**30
"""Bytes of one array beyond which a file is broken or hostile."""
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}

_PLAIN_TYPE = re.compile(r"b1|[iu][1248]|f[248]|[US][1-9]\d{0,5}")
_NAMES = {
    "numpy.core.multiarray _reconstruct": "array",
    "numpy._core.multiarray _reconstruct": "array",
    "numpy.core.multiarray scalar": "scalar",
    "numpy._core.multiarray scalar": "scalar",
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
    "_codecs encode": "bytes",
}
"""The only names a file may mention, and what each is here: a word that says how to read what follows."""
_MARK = object()
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (), "MARK": _MARK}
_VALUES = re.compile(
    "(BIN)?INT[12]?|LONG[14]?|(BIN)?FLOAT|(SHORT_)?(BIN)?UNICODE8?|(SHORT_)?(BIN)?STRING|(SHORT_)?BINBYTES8?"
)
"""Opcodes that carry a number, a text or bytes."""


def array_names(path: Path) -> set[str]:
    """Names of a file's arrays."""
    with zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")}


def has_arrays(path: Path, *keys: str) -> bool:
    """Whether a file has all these arrays, as far as can be told: True where it is damaged."""
    try:
        return array_names(path).issuperset(keys)
    except BROKEN:
        return True


def read_array(path: Path, key: str) -> NDArray[Any] | list[Any]:
    """One array of the file; an array of objects comes back as the flat list of them."""
    with zipfile.ZipFile(path) as archive:
        if f"{key}.npy" not in archive.namelist():
            raise ValueError(f"there is no array {key!r}")
        if archive.getinfo(f"{key}.npy").file_size > MAX_NUM_BYTES:
            raise ValueError(f"{key} claims to be larger than {MAX_NUM_BYTES} bytes")
        content = archive.read(f"{key}.npy")
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"{key} is stored in an unknown version {version}")
    shape, _, dtype = HEADERS[version](stream)
    if dtype.hasobject:
        objects = _Machine().run(content[stream.tell() :])
        if not isinstance(objects, list) or len(objects) != math.prod(shape):
            raise ValueError(f"{key} does not hold the {math.prod(shape)} objects it claims")
        return objects
    if len(content) - stream.tell() != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{key} is not complete")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


@dataclass(frozen=True)
class _Name:
    """One of the names that a file may mention."""

    word: str


@dataclass
class _Type:
    """A numpy type that is being described: its code, then its byte order."""

    code: str
    order: str = "="

    def plain(self) -> np.dtype[Any]:
        if not _PLAIN_TYPE.fullmatch(self.code):
            raise ValueError(f"an array of type {self.code!r} is not read")
        return np.dtype(self.order + self.code)


@dataclass
class _Array:
    """A numpy array that is being described; a file gives its contents later."""

    value: NDArray[Any] | list[Any] | None = None


class _Machine:
    """Reads a pickle as data. Every opcode pushes, collects or describes; none calls what a file names."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self, program: bytes) -> Any:
        """What the program describes."""
        for opcode, argument, _ in pickletools.genops(program):
            if opcode.name != "STOP":
                self._step(opcode.name, argument)
        return _finished(self.stack.pop())

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if _VALUES.fullmatch(name):
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[len(self.memo) if name == "MEMOIZE" else int(argument)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[int(argument)])
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack[-int(name[-1]) :] = [tuple(stack[-int(name[-1]) :])]
        elif name in ("TUPLE", "LIST"):
            items = self._since_mark()
            stack.append(tuple(items) if name == "TUPLE" else items)
        elif name == "EMPTY_LIST":
            stack.append([])
        elif name in ("APPEND", "APPENDS"):
            items = self._since_mark() if name == "APPENDS" else [stack.pop()]
            _require(stack[-1], list).extend(items)
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            # Never str(): nested tuples that share their parts would be written out in full.
            words = [_require(stack.pop(), str) for _ in range(2)] if name == "STACK_GLOBAL" else []
            stack.append(_name(" ".join(reversed(words)) if words else argument))
        elif name == "REDUCE":
            arguments = stack.pop()
            stack.append(_describe(_require(stack.pop(), _Name).word, _require(arguments, tuple)))
        elif name == "BUILD":
            state = stack.pop()
            _fill(stack[-1], _require(state, tuple))
        elif name not in ("PROTO", "FRAME"):
            raise ValueError(f"it keeps Python objects that are not plain data ({name})")

    def _since_mark(self) -> list[Any]:
        items = []
        while (item := self.stack.pop()) is not _MARK:
            items.append(item)
        return items[::-1]


def _name(text: str) -> _Name:
    if text not in _NAMES:
        raise ValueError(f"it keeps Python objects that are not plain data ({text.replace(' ', '.')})")
    return _Name(_NAMES[text])


def _describe(word: str, arguments: tuple[Any, ...]) -> Any:
    """What calling the name would have made, as far as its arguments tell."""
    if word == "array":
        return _Array()
    if word == "dtype":
        return _Type(_require(arguments[0], str))
    if word == "bytes" and arguments[1] == "latin1":
        return _require(arguments[0], str).encode("latin1")
    if word == "scalar":
        return np.frombuffer(_bytes(arguments[1]), _require(arguments[0], _Type).plain(), count=1)[0]
    raise ValueError(f"it keeps Python objects that are not plain data ({word})")


def _fill(target: Any, state: tuple[Any, ...]) -> None:
    """Give a type its byte order, or an array its contents."""
    if isinstance(target, _Type):
        target.order = state[1] if state[1] in ("<", ">", "|", "=") else "="
        return
    _, shape, dtype, is_fortran, content = state
    shape = tuple(int(length) for length in _require(shape, tuple))
    if _require(dtype, _Type).code.startswith("O"):
        objects = [_finished(item) for item in _require(content, list)]
        if is_fortran and len(shape) > 1:
            raise ValueError("an array of objects is stored by columns")
        _require(target, _Array).value = objects
        return
    plain = np.frombuffer(_bytes(content), dtype.plain())
    _require(target, _Array).value = plain.reshape(shape, order="F" if is_fortran else "C")


def _finished(item: Any) -> Any:
    """What an array may hold: a number, a string, None, or an array."""
    value = item.value if isinstance(item, _Array) else item
    if isinstance(item, (_Name, _Type, list, tuple)) or item is _MARK or (value is None and item is not None):
        raise ValueError("it keeps Python objects that are more than strings, numbers and arrays")
    return value


def _bytes(content: Any) -> bytes:
    """Python 2 wrote bytes as strings."""
    return content.encode("latin1") if isinstance(content, str) else _require(content, bytes)


def _require(item: Any, kind: type) -> Any:
    if not isinstance(item, kind):
        raise ValueError("its list of objects is damaged")
    return item
