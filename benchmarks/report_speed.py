"""How large a report is and how fast it opens: a made-up model in headless Chromium, without a graphics card.

    python benchmarks/report_speed.py [--images 300] [--points 100000] [--rounds 5] [--out REPORT.html]

Times are milliseconds from the start of the navigation, of every round, each in a new page: until the words can be
read (first contentful paint), until the first frame of the 3D view, with all points that it ever shows, has been drawn,
and until the page has nothing more to do. All pairs of images are in its view graph, and one image in eight is doubtful
or missing and has a picture.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))  # the made-up model is shared with the tests

from tests.browser.chromium import launch
from tests.report.made_up import all_pairs, model, ring_of_cameras, summary_of
from vgpa.report.page import write_page

SIZE_PX = {"width": 1280, "height": 900}
LIMIT_MS = 120_000
# Set up before the page's own scripts, so that the time is taken as soon as the page says that the frame is there, and
# not after what the page does next. Reading a pixel waits for all that was sent to WebGL before.
WATCH = """
window.sceneOpened = new Promise((done) => new PerformanceObserver((list) => {
  const [mark] = list.getEntriesByName("3D view drawn");
  if (!mark) return;
  const gl = document.querySelector("#view3d canvas").getContext("webgl");
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  done({ ms: performance.now(), numPoints: mark.detail.numPoints });
}).observe({ type: "mark", buffered: true }));
"""
# A frame that was shown cannot be read back: to see what is in it, the same frame is drawn again when all is over.
MEASURE = """async () => {
  const { ms, numPoints } = await window.sceneOpened;
  await new Promise((done) => setTimeout(() => requestIdleCallback(done), 200));
  const idle = performance.now();
  const view = await sceneIsDone;
  view.draw();
  const gl = view.canvas.getContext("webgl");
  const pixels = new Uint8Array(4 * view.canvas.width * view.canvas.height);
  gl.readPixels(0, 0, view.canvas.width, view.canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  const covered = pixels.filter((value, k) => k % 4 === 3 && value > 0).length / (pixels.length / 4);
  return [performance.getEntriesByName("first-contentful-paint")[0].startTime, ms, idle, numPoints, covered];
}"""


@dataclass(frozen=True)
class Opening:
    """Milliseconds until words were there, the 3D view was drawn, and the page was idle; and what the view shows.

    Attributes:
        num_points: points in the first frame.
        covered: share of the view's pixels on which points or cameras are.
    """

    words_ms: float
    scene_ms: float
    idle_ms: float
    num_points: int
    covered: float


def write_report(path: Path, num_images: int, num_points: int) -> None:
    """The report of a made-up ring of images with photos, pairs, doubts and missing images."""
    reconstruction = model(ring_of_cameras(num_images), num_points)
    summary = summary_of(reconstruction, all_pairs(num_images))
    for k, row in enumerate(summary["images"]):
        row["doubts"] = ["few points"] if k % 16 == 5 else []
    missing = [
        {"name": f"lost_{k}.jpg", "state": state, "num_points": 0, "mean_error_px": None, "model": None, "doubts": []}
        for k, state in enumerate(["no_matches", "suspicious"] * (num_images // 32))
    ]
    summary["images"] += missing
    summary["num_images"] += len(missing)
    with tempfile.TemporaryDirectory() as photos:
        for row in summary["images"]:
            if row["doubts"] or row["state"] != "registered":
                Image.effect_noise((320, 240), 60).save(Path(photos, row["name"]))
        write_page(summary, reconstruction, path, f"{num_images} made-up images", Path(photos))


def open_report(page: Any, path: Path) -> Opening:
    """Open it in an empty page and wait until it has nothing more to do."""
    page.add_init_script(WATCH)
    page.goto(path.resolve().as_uri(), timeout=LIMIT_MS)
    return Opening(*page.evaluate(MEASURE))


def main() -> None:
    """Write the report, open it several times, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="keep the report here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, launch() as browser:
        path = given.out or Path(folder, "report.html")
        write_report(path, given.images, given.points)
        rounds = []
        for _ in range(given.rounds):
            page = browser.new_page(viewport=SIZE_PX)
            rounds.append(open_report(page, path))
            page.close()
        size_mb = path.stat().st_size / 1e6
    print(f"{given.images} images, {given.points:,} points: {size_mb:.1f} MB")
    print(f"In the first frame {rounds[0].num_points:,} points; {rounds[0].covered:.0%} of its pixels are covered.\n")
    print("| until | median s | all rounds s |\n|---|---|---|")
    for what, name in (("words can be read", "words_ms"), ("3D view", "scene_ms"), ("nothing more to do", "idle_ms")):
        seconds = [getattr(opening, name) / 1e3 for opening in rounds]
        print(f"| {what} | {median(seconds):.2f} | {', '.join(f'{value:.2f}' for value in seconds)} |")


if __name__ == "__main__":
    main()
