"""The picture of a training run: losses and validation scores over the steps, as a page that needs no network.

Touches the disk and plotly.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from vgpa.train.log import LogLine

_CURVES = (
    (1, "loss", "training loss"),
    (1, "val_loss", "validation loss"),
    (2, "val_rotation_auc_30", "rotation AUC@30"),
    (2, "val_pose_auc_30", "pose AUC@30"),
)


def write_curve(path: Path, log: list[LogLine]) -> bool:
    """Write the curves of a log as an HTML page; says whether it could: a bare GPU machine may have no plotly."""
    if find_spec("plotly") is None:
        return False
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.05)
    steps = [line.step for line in log]
    for row, field, name in _CURVES:
        values = [getattr(line, field) for line in log]
        figure.add_scatter(x=steps, y=values, name=name, mode="lines+markers", row=row, col=1)
    figure.update_yaxes(title_text="loss", row=1, col=1)
    figure.update_yaxes(title_text="validation AUC@30", row=2, col=1)
    figure.update_xaxes(title_text="step", row=2, col=1)
    figure.update_layout(template="plotly_white", hovermode="x unified", height=700)
    figure.write_html(path, include_plotlyjs=True, div_id="curve")
    return True
