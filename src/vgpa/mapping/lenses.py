"""Bundle adjustment that does not let lenses run away.

Photos of a turntable, or a single photo of a flat wall, hardly tell a focal length from another one: an adjustment may
then follow a valley to lenses that no camera has. Such lenses are held, and the adjustment is done once more, but only
once: whoever calls looks at what a second one has lost.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vgpa.colmap.bundle import BundleOptions, bundle_adjust
from vgpa.colmap.cameras import focal_change, has_believable_focal, mean_focal_px
from vgpa.geometry.rotation import BoolArray
from vgpa.scene import Camera, ImageSet, Keypoints, Reconstruction

MAX_GROWTH = 2.0
"""Factor by which a focal length may change that ends outside of what lenses have."""
MAX_ASPECT_CHANGE = 1.5
"""Pixels are known to be square, or how far they are not, better than by this factor."""


def adjust_believably(
    model: Reconstruction,
    keypoints: Keypoints,
    options: BundleOptions,
    given: ImageSet,
    min_num_images: int = 1,
    free_images: BoolArray | None = None,
) -> Reconstruction:
    """The model after bundle adjustment; lenses that ran away in it are held as they were given instead.

    Args:
        given: the images with the lenses that are believed.
        min_num_images: lenses of fewer images are let go: there the poses may be as wrong as the lens.
        free_images: as in `bundle_adjust`.
    """
    adjusted = bundle_adjust(model, keypoints, options, free_images)
    num_images = np.bincount(model.images.camera_idx[model.poses.is_known], minlength=len(model.images.cameras))
    is_held = lost_lenses(adjusted.images, given) & (num_images >= min_num_images)
    if not is_held.any():
        return adjusted
    held = (*options.held_cameras, *np.flatnonzero(is_held).tolist())
    again = replace(model, images=with_given_lenses(model.images, given, is_held))
    return bundle_adjust(again, keypoints, replace(options, held_cameras=held), free_images)


def lost_lenses(images: ImageSet, given: ImageSet) -> BoolArray:
    """(num_cameras,) whether a focal length ran away from a given one, or on one axis from the other."""

    def is_lost(old: Camera, new: Camera) -> bool:
        change = focal_change(old, new)
        if not mean_focal_px(old) > 0:
            return False
        is_skewed = not change.max() <= MAX_ASPECT_CHANGE * change.min()
        # A lens that is longer than lenses are, because its photo was cropped, may run away no less.
        is_gone = not has_believable_focal(new) and not MAX_GROWTH**-1 <= change.min() <= change.max() <= MAX_GROWTH
        return is_skewed or is_gone

    return np.array([is_lost(old, new) for old, new in zip(given.cameras, images.cameras, strict=True)], dtype=np.bool_)


def known_lenses(images: ImageSet) -> tuple[int, ...]:
    """The cameras whose focal length somebody knew before."""
    return tuple(k for k, camera in enumerate(images.cameras) if camera.focal_source.is_known)


def lenses_as_given(images: ImageSet, given: ImageSet) -> tuple[int, ...]:
    """The cameras whose parameters are exactly those given."""
    both = zip(given.cameras, images.cameras, strict=True)
    return tuple(k for k, (old, new) in enumerate(both) if np.array_equal(old.params, new.params))


def with_given_lenses(images: ImageSet, given: ImageSet, which: BoolArray) -> ImageSet:
    """The images with some of the cameras as they were given."""
    both = zip(given.cameras, images.cameras, which, strict=True)
    return images.with_cameras(tuple(old if back else new for old, new, back in both))
