"""Line plots as SVG, written by hand: small panels side by side, with one legend. Values lie between 0 and 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH_PX, HEIGHT_PX = 250, 180
"""Of a panel's axes."""
LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 38, 14, 26, 40
LEGEND_PX = 28
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
FONT = 'font-family="sans-serif" font-size="12"'


@dataclass(frozen=True)
class Curve:
    """A line through values at the panel's ticks; None leaves a gap."""

    name: str
    color: str
    values: Sequence[float | None]


@dataclass(frozen=True)
class Panel:
    """Curves over shared ticks."""

    title: str
    xlabel: str
    ticks: Sequence[str]
    curves: Sequence[Curve]


def write_panels(panels: Sequence[Panel], path: Path, num_columns: int = 3) -> None:
    """Write all panels into one picture, row by row."""
    num_columns = min(num_columns, len(panels))
    num_rows = -(-len(panels) // num_columns)
    cell = LEFT_PX + WIDTH_PX + RIGHT_PX, TOP_PX + HEIGHT_PX + BOTTOM_PX
    legend, legend_width = _legend(panels)
    width, height = max(num_columns * cell[0], legend_width), LEGEND_PX + num_rows * cell[1]
    parts = [f'<rect width="{width}" height="{height}" fill="white"/>', *legend]
    for k, panel in enumerate(panels):
        left, top = k % num_columns * cell[0] + LEFT_PX, LEGEND_PX + k // num_columns * cell[1] + TOP_PX
        parts += [f'<g transform="translate({left} {top})">', *_panel(panel), "</g>"]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" {FONT}>'
    path.write_text("\n".join([head, *parts, "</svg>"]) + "\n", encoding="utf-8")


def _legend(panels: Sequence[Panel]) -> tuple[list[str], int]:
    """All curves by their colours, and how wide that is."""
    colors = {curve.name: curve.color for panel in panels for curve in panel.curves}
    parts, x = [], LEFT_PX
    for name, color in colors.items():
        parts.append(f'<path d="M{x} 16h22" stroke="{color}" stroke-width="2.5"/>')
        parts.append(f'<text x="{x + 28}" y="20">{escape(name)}</text>')
        x += 48 + 8 * len(name)
    return parts, x


def _panel(panel: Panel) -> Iterator[str]:
    yield f'<text x="{WIDTH_PX / 2}" y="-9" text-anchor="middle" font-weight="bold">{escape(panel.title)}</text>'
    for value in GRID:
        y = _y(value)
        yield f'<path d="M0 {y}h{WIDTH_PX}" stroke="#ddd"/>'
        yield f'<text x="-6" y="{y + 4}" text-anchor="end">{value:g}</text>'
    for k, tick in enumerate(panel.ticks):
        yield f'<text x="{_x(k, panel)}" y="{HEIGHT_PX + 16}" text-anchor="middle">{escape(tick)}</text>'
    label = escape(panel.xlabel)
    yield f'<text x="{WIDTH_PX / 2}" y="{HEIGHT_PX + 33}" text-anchor="middle" fill="#555">{label}</text>'
    for curve in reversed(panel.curves):  # the first one on top
        yield from _curve(curve, panel)


def _curve(curve: Curve, panel: Panel) -> Iterator[str]:
    spots = [None if value is None else (_x(k, panel), _y(value)) for k, value in enumerate(curve.values)]
    path = " ".join(
        f"{'L' if k and spots[k - 1] else 'M'}{spot[0]} {spot[1]}" for k, spot in enumerate(spots) if spot is not None
    )
    yield f'<path d="{path}" fill="none" stroke="{curve.color}" stroke-width="2.5"/>'
    for spot in filter(None, spots):
        yield f'<circle cx="{spot[0]}" cy="{spot[1]}" r="3.5" fill="{curve.color}"/>'


def _x(k: int, panel: Panel) -> float:
    return round(WIDTH_PX * (k + 0.5) / len(panel.ticks), 1)


def _y(value: float) -> float:
    return round(HEIGHT_PX * (1 - value), 1)
