"""Data as text inside a page: JSON that cannot end its element, and arrays as base64."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def script_json(data: dict[str, Any]) -> str:
    """JSON that is safe inside a script element: pure ASCII, and nothing in it can end the element."""
    text = json.dumps(_without_nan(data), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def binary(array: NDArray[Any], dtype: str) -> dict[str, str]:
    """An array as its dtype and its little-endian bytes in base64, flattened."""
    data = np.ascontiguousarray(array, dtype="<" + dtype).tobytes()
    return {"dtype": dtype, "bdata": base64.b64encode(data).decode()}


def _without_nan(value: Any) -> Any:
    """The same plain data with None for numbers that JSON cannot write."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
