"""Checks that the scene types run on their arrays: each gives back a read-only array or says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def checked(array: ArrayLike, dtype: DTypeLike, shape: tuple[int | None, ...], name: str) -> NDArray[Any]:
    """A read-only array of the given dtype whose shape matches; None in `shape` stands for any length."""
    try:
        given = np.asarray(array)
        with np.errstate(invalid="ignore"):
            result = np.array(given, dtype=dtype)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers ({error})") from error
    if result.dtype.kind in "iu" and given.dtype.kind in "fcO" and (result != given).any():
        raise ValueError(f"{name} must hold whole numbers in range")
    if result.ndim != len(shape) or any(
        want is not None and want != got for want, got in zip(shape, result.shape, strict=True)
    ):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {result.shape}")
    if np.issubdtype(result.dtype, np.floating) and not np.isfinite(result).all():
        raise ValueError(f"{name} must be finite")
    result.flags.writeable = False
    return result


def check_indices(indices: NDArray[np.integer], num: int, name: str) -> None:
    """Raise unless every index is in 0..num-1."""
    if indices.size and (indices.min() < 0 or indices.max() >= num):
        raise ValueError(f"{name} must be in 0..{num - 1}, got {indices.min()}..{indices.max()}")


def check_offsets(offsets: NDArray[np.integer], num_items: int, name: str) -> None:
    """Raise unless offsets are CSR offsets over num_items: from 0 to num_items, never falling."""
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != num_items or (np.diff(offsets) < 0).any():
        raise ValueError(f"{name} must rise from 0 to {num_items}")


def run_indices(offsets: NDArray[np.integer], runs: NDArray[np.integer]) -> NDArray[np.integer]:
    """Item indices of the selected CSR runs, one run after the other."""
    lengths = offsets[runs + 1] - offsets[runs]
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(offsets[runs] - (ends - lengths), lengths)
