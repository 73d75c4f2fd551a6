"""Which tracks and which images carry a model: even subsets for early rounds and trials, and the connected core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vgpa.geometry.components import label_components
from vgpa.scene import Tracks

MIN_NUM_SHARED = 50
"""Points that two images share which surely belong together; two sets of images share twice as many."""


def covering_tracks(tracks: Tracks, min_num: int) -> NDArray[np.bool_]:
    """(num_tracks,) mask of the tracks that are among the `min_num` longest of any image they are seen in.

    Long tracks tie the cameras together best, and every image keeps its share of them, however few it has.
    """
    return _first_of_each_image(tracks, -tracks.lengths, min_num)


def sampled_tracks(tracks: Tracks, min_num: int, seed: int) -> NDArray[np.bool_]:
    """(num_tracks,) mask of random tracks, long and short, of which every image sees `min_num`, or all that it has."""
    return _first_of_each_image(tracks, np.random.default_rng(seed).permutation(len(tracks)), min_num)


def _first_of_each_image(tracks: Tracks, rank: NDArray[np.int64], min_num: int) -> NDArray[np.bool_]:
    """(num_tracks,) mask of the tracks that are among the `min_num` lowest-ranked of any image they are seen in."""
    order = np.lexsort((rank[tracks.track_idx], tracks.image_idx))
    image = tracks.image_idx[order]
    starts = np.flatnonzero(np.r_[True, image[1:] != image[:-1]]) if len(image) else np.zeros(0, dtype=np.int64)
    place = np.arange(len(image)) - np.repeat(starts, np.diff(np.r_[starts, len(image)]))
    chosen = np.zeros(len(tracks), dtype=np.bool_)
    chosen[tracks.track_idx[order][place < min_num]] = True
    return chosen


def well_supported_images(tracks: Tracks, num_images: int, min_num_points: int) -> NDArray[np.bool_]:
    """(num_images,) mask of the images that see enough points and hang together through them.

    Images with too few points go first, which may leave others with too few; then the largest set of images
    connected by shared points stays.
    """
    keep = np.ones(num_images, dtype=np.bool_)
    while True:
        shared = tracks.select_observations(keep[tracks.image_idx])
        shared = shared.select(shared.lengths >= 2)
        updated = keep & (np.bincount(shared.image_idx, minlength=num_images) >= min_num_points)
        if (updated == keep).all():
            break
        keep = updated
    if not keep.any():
        return keep
    links = np.stack([shared.image_idx, num_images + shared.track_idx])
    label = label_components(links, num_images + len(shared))[:num_images]
    return keep & (label == np.bincount(label[keep]).argmax())


def firm_core(tracks: Tracks, num_images: int) -> NDArray[np.bool_]:
    """(num_images,) mask of the set of images, tied by many shared points, that has most of the observations.

    What hangs on the rest by a few points only may stand anywhere: some of these are always wrong.
    """
    part = _tied(tracks, np.arange(num_images), MIN_NUM_SHARED)
    while part.max(initial=0) > (tied := _tied(tracks, part, 2 * MIN_NUM_SHARED)).max(initial=0):
        part = tied
    return np.asarray(part == np.bincount(part[tracks.image_idx], minlength=1).argmax())


def _tied(tracks: Tracks, part: NDArray[np.int64], min_num: int) -> NDArray[np.int64]:
    """(num_images,) the part of each image once parts that share enough points are one; counted from 0."""
    from scipy.sparse import coo_array  # rarely needed, and slow to import

    num = int(part.max(initial=0)) + 1
    seen = coo_array(
        (np.ones(tracks.num_observations, dtype=np.int64), (part[tracks.image_idx], tracks.track_idx)),
        shape=(num, len(tracks)),
    ).tocsr()
    seen.data[:] = 1
    shared = (seen @ seen.T).tocoo()
    ties = np.stack(shared.coords)[:, shared.data >= min_num]
    return label_components(ties, num)[part]
