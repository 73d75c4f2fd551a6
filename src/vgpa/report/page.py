"""report.html: one page that works offline and shows whether a model is good, what is missing, and why.

What the page shows is gathered as one JSON value. `template.html`, `page.css` and the scripts turn it into a page:
`page.js` the words and tables, `drawing.js` what all drawing shares, `gallery.js` the images to look at. The 3D view is
`orbit.js` (where it is seen from), `webgl.js` (the renderer), `layers.js` (what is in it), `view.js` (a frame of it),
`gestures.js` (mouse, fingers, keys) and `scene.js` (its place on the page). `charts.js` makes the other plots with
plotly, whose large script is run only when a plot is wanted, after the 3D view. File names are the user's and may hold
anything: they travel inside the JSON, and the page's security policy runs no script but the ones written here.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any

from vgpa.report.charts import describe_adjacency, describe_histograms
from vgpa.report.encode import script_json
from vgpa.report.scene import describe_scene
from vgpa.scene import Reconstruction

SCRIPTS = ("page", "drawing", "orbit", "webgl", "layers", "view", "gestures", "scene", "gallery", "charts")
NOT_SHOWN = ("view_graph", "config", "image_folder")
"""Parts of report.json that the page shows in another form, or that are nobody's business where it is sent."""


def write_page(
    summary: dict[str, Any], reconstruction: Reconstruction, path: Path, title: str, images: Path | None = None
) -> None:
    """Write report.html so that a reader never sees half of it.

    Args:
        summary: what report.json holds. With a key "scores" (accuracy against known cameras, as a dict) the page
            shows these too.
        title: what was reconstructed, as the headline.
        images: the folder of the photos, for small pictures of those to look at.
    """
    room = Path(__file__).parent
    scripts = {name: (room / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS}
    plotly = _plotly_path().read_bytes()
    values = scripts | {
        "title": html.escape(title),
        "policy": _policy([*(script.encode() for script in scripts.values()), plotly]),
        "style": (room / "page.css").read_text(encoding="utf-8"),
        "data": script_json(page_data(summary, reconstruction, images)),
    }
    # plotly's megabytes stay the bytes they are: nothing in them is to be read.
    before, after = (room / "template.html").read_text(encoding="utf-8").split("$plotly")
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(_filled(before, values))
        file.write(plotly)
        file.write(_filled(after, values))
    partial.replace(path)


def page_data(summary: dict[str, Any], reconstruction: Reconstruction, images: Path | None = None) -> dict[str, Any]:
    """Everything the page shows, as plain data; arrays as base64 (see `encode.binary`)."""
    facts = {key: value for key, value in summary.items() if key not in NOT_SHOWN}
    graph, rows = summary["view_graph"], summary["images"]
    return {
        "summary": facts,
        "settings": json.dumps(summary["config"], indent=2, default=str),
        "scene": describe_scene(reconstruction, rows),
        "graph": {key: value for key, value in graph.items() if key != "edges"}
        | describe_adjacency(graph["edges"], len(rows)),
        "histograms": describe_histograms(summary, reconstruction),
        "thumbnails": {} if images is None else _thumbnails(rows, images),
    }


def _thumbnails(rows: list[dict[str, Any]], images: Path) -> dict[str, str]:
    from vgpa.report.thumbnails import make_thumbnails  # and with it a library for pictures

    return make_thumbnails(rows, images)


def _filled(template: str, values: dict[str, str]) -> bytes:
    # A title can hold bytes that are no text; the page shows a question mark for them.
    return Template(template).substitute(values).encode("utf-8", errors="replace")


def _plotly_path() -> Path:
    """Where plotly's script lies. Found without importing plotly, which would cost more than the page."""
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("plotly is not installed")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


def _policy(scripts: list[bytes]) -> str:
    """Content security policy: no network, and no script but these, by their hashes."""
    hashes = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in scripts]
    sources = " ".join(f"'sha256-{value}'" for value in hashes)
    return f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:"
