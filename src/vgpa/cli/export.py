"""`vgpa export MODEL_OR_OUT --to nerfstudio -o DIR`: a model for the next tool."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

from vgpa.cli.options import Json, Output
from vgpa.cli.parse import Arg
from vgpa.report.export.options import ExportOptions, Target


def export(
    model: Annotated[
        Path,
        Arg("folder of a COLMAP model, or the output folder of a run", "MODEL_OR_OUT", is_positional=True),
    ],
    to: Annotated[Target, Arg("what the files are for")],
    output: Output,
    images: Annotated[Path | None, Arg("folder of the model's photos", "DIR")] = None,
    undistort: Annotated[bool, Arg("straighten photos and model to plain pinhole cameras")] = False,
    metric: Annotated[bool, Arg("metres, east-north-up, by the photos' GPS")] = False,
    gps: Annotated[
        Path | None,
        Arg("GPS positions for --metric: a table with the columns name,lat,lon,alt", "FILE"),
    ] = None,
    json: Json = False,
) -> int:
    """A model as COLMAP files, point cloud, trajectory, or data for nerfstudio and Gaussian splatting."""
    from vgpa.output import open_output
    from vgpa.report.export.run import export_model

    options = ExportOptions(to, images, undistort, metric or gps is not None, gps)
    open_output(output)
    exported = export_model(model, output, options)
    place = None if exported.georeference is None else exported.georeference.facts()
    if json:
        files = [str(file) for file in exported.files]
        print(json_format.dumps({"files": files, "georeference": place}))
        return 0
    for file in exported.files:
        print(f"written  {file}")
    if place is not None:
        origin = "{latitude_deg:.7f}, {longitude_deg:.7f}, {altitude_m:.1f} m".format(**place["origin"])
        print(f"scale    {place['metres_per_unit']:.5g} m per unit of the model")
        print(f"to GPS   {place['rms_to_gps_m']:.2f} m RMS, {place['median_to_gps_m']:.2f} m median, ", end="")
        print(f"{place['num_positions']} photos")
        print(f"axes     {place['axes']}; origin {origin}")
        print(f"up       from {place['up_from']}, good to {place['tilt_deg']:.2g} degrees")
    return 0
