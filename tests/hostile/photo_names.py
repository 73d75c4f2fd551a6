"""Photos with names that break programs, and things with a photo's name that are no files."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.corpus import End, Hostile

ODD_NAMES = (
    "two words.jpg",
    " leading and trailing .jpg",
    "tab\tin name.jpg",
    "new\nline.jpg",
    "carriage\rreturn.jpg",
    "image1.jpg",
    "image_1 .jpg",
    "ünïcödé.jpg",
    "e\u0301 decomposed.jpg",
    "\u00e9 composed.jpg",
    "写真.jpg",
    "📷.jpg",
    "\u202egpj.right to left.jpg",
    "zero\u200bwidth.jpg",
    "<img src=x onerror=alert(1)>.jpg",
    "<script>alert(1)<%2Fscript>.jpg",
    "&lt;b&gt;&amp;.jpg",
    "'; DROP TABLE images;--.jpg",
    '"quoted".jpg',
    "back\\slash.jpg",
    "..hidden.jpg",
    "a..b.jpg",
    "...jpg.jpg",
    "-o.jpg",
    "--help.jpg",
    "%s%n%x.jpg",
    "{0}{name}.jpg",
    "$HOME.jpg",
    "`touch pwned`.jpg",
    "$(touch pwned).jpg",
    "*.jpg",
    "question?mark.jpg",
    "#comment.jpg",
    "a;b|c&d.jpg",
    "~.jpg",
    "CON.jpg",
    "\x01\x07\x1b[31mcontrol.jpg",
    "l" * 251 + ".jpg",
    "twice.jpg.jpg",
    "[bold red]markup[/].jpg",
    "folder with spaces/sub folder/photo.jpg",
    "..deep/..deeper/photo.jpg",
    "UPPER.JPG",
    "upper.jpg",
)
NOT_UTF_8 = (b"latin-1-\xe9.jpg", b"\xff\xfe.jpg")
"""Names that are no text. Databases keep text, so such photos cannot be used."""


def make_photos_with_odd_names(folder: Path, content: bytes) -> list[Hostile]:
    """Write the same healthy photo under every odd name, and things of all kinds that are named like photos."""
    folder.mkdir(parents=True)
    made = []
    for name in ODD_NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
        made.append(Hostile("odd name", folder / name, End.USED))
    for raw in NOT_UTF_8:
        path = folder / os.fsdecode(raw)
        path.write_bytes(content)
        made.append(Hostile("name that is no text", path, End.REFUSED))
    return [*made, *_no_files(folder, content)]


def _no_files(folder: Path, content: bytes) -> list[Hostile]:
    """Folders, pipes and links that are named like photos; links that lead to a photo are photos."""
    outside = folder.parent / "outside.jpg"
    outside.write_bytes(content)
    (folder / "folder.jpg").mkdir()
    os.mkfifo(folder / "pipe.jpg")
    links = {
        "loop.jpg": "loop.jpg",
        "ping.jpg": "pong.jpg",
        "pong.jpg": "ping.jpg",
        "nowhere.jpg": "missing.jpg",
        "zeros.jpg": "/dev/zero",
        "self": ".",
        "parent": "..",
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    (folder / "linked.jpg").symlink_to(outside)
    (folder / "system.jpg").symlink_to("/proc/self/status")
    locked = folder / "locked.jpg"
    locked.write_bytes(content)
    locked.chmod(0)
    ignored = [Hostile("no file", folder / name, End.IGNORED) for name in ("folder.jpg", "pipe.jpg", *links)]
    return [
        *ignored,
        Hostile("link to a photo", folder / "linked.jpg", End.USED),
        Hostile("link to no photo", folder / "system.jpg", End.REFUSED),
        Hostile("no permission", locked, End.REFUSED),
    ]
