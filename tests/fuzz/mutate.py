"""Damage to healthy inputs, drawn from a generator: the same draws give the same damage.

The generator is Python's `random.Random`, which hypothesis can stand in for: the suite lets hypothesis draw (and
shrink), the long run seeds one generator per input.
"""

from __future__ import annotations

import math
import struct
from random import Random

ODD_INTEGERS = (0, 1, -1, 2, 127, 255, 256, 65535, 65536, 2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**63 - 1, -(2**63))
ODD_FLOATS = (0.0, -0.0, 1.0, -1.0, 1e-308, 1e308, -1e308, math.inf, -math.inf, math.nan)
ODD_TEXT = ("", " ", "\0", "\n", "..", "/", "../../etc/passwd", "<b>", "'", "é", "\ud800", "nan", "1e999", "x" * 300)
MAX_NUM_CHANGES = 4


def mutate(random: Random, content: bytes) -> bytes:
    """The same bytes with a few changes: odd numbers written over them, bytes cut out, repeated, moved or cut off."""
    for _ in range(random.randint(1, MAX_NUM_CHANGES)):
        change = random.choice((_overwrite, _overwrite, _overwrite, _flip, _truncate, _repeat, _delete))
        content = change(random, content)
    return content


def odd_value(random: Random) -> object:
    """A value that a careless reader does not expect, of any type that a table cell can have."""
    return random.choice((*ODD_INTEGERS, *ODD_FLOATS, *ODD_TEXT[:-3], None, b"", b"\0", bytes(8), bytes(64)))


def _overwrite(random: Random, content: bytes) -> bytes:
    """An odd number, in one of the ways that numbers are stored, in place of what was there."""
    order, form = random.choice("<>"), random.choice("bhiqfd")
    if form in "fd":
        number = random.choice(ODD_FLOATS)
        number = number if form == "d" or not abs(number) > 1e38 else math.copysign(math.inf, number)
        written = struct.pack(order + form, number)
    else:
        size = struct.calcsize(form)
        written = (random.choice(ODD_INTEGERS) % 2 ** (8 * size)).to_bytes(size, "little" if order == "<" else "big")
    start = random.randint(0, max(len(content) - 1, 0))
    return content[:start] + written + content[start + len(written) :]


def _flip(random: Random, content: bytes) -> bytes:
    if not content:
        return content
    start = random.randint(0, len(content) - 1)
    return content[:start] + bytes([content[start] ^ 1 << random.randint(0, 7)]) + content[start + 1 :]


def _truncate(random: Random, content: bytes) -> bytes:
    return content[: random.randint(0, len(content))]


def _span(random: Random, content: bytes) -> tuple[int, int]:
    start = random.randint(0, len(content))
    return start, min(start + random.choice((1, 2, 4, 8, 64, 1024)), len(content))


def _repeat(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content)
    return content[:end] + content[start:end] * random.randint(1, 3) + content[end:]


def _delete(random: Random, content: bytes) -> bytes:
    start, end = _span(random, content)
    return content[:start] + content[end:]
