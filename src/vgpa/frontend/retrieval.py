"""Which photos look alike, from their own local descriptors: VLAD over RootSIFT, without any download.

A small visual vocabulary is learnt from the collection itself (seeded k-means on a sample of descriptors). Each
photo sums up, per visual word, how its descriptors differ from the word; these sums, normalised per word and
power-normalised, are one vector per photo. Nearest vectors are likely to overlap (Jegou et al. 2010;
Arandjelovic and Zisserman 2013). Whitening, centring and large bag-of-words vocabularies were tried and find no
more of the pairs that verify; 256 words on the 1000 largest features find more than 64 words or more features.
The cost grows with the number of photos; only the final product of their vectors grows with its square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vgpa.geometry.rotation import FloatArray, normalize

NUM_WORDS = 256
MAX_NUM_DESCRIPTORS = 1000
"""Descriptors used per photo, largest features first: they are the ones that survive a change of scale."""
NUM_SAMPLES = 40_000


def describe_photos(descriptors: Sequence[NDArray[np.uint8]], seed: int) -> NDArray[np.float32]:
    """One unit vector per photo, (num_photos, d), from its local descriptors (n, 128)."""
    words = _learn_words(descriptors, seed)
    return np.stack([_aggregate(_root(part), words).astype(np.float32) for part in descriptors])


def nearest_pairs(vectors: NDArray[np.floating], top_k: int) -> list[tuple[int, int]]:
    """Pairs (i, j), i < j, of photos of which one is among the `top_k` most similar ones of the other."""
    num = len(vectors)
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argsort(-similarity, axis=1, kind="stable")[:, : min(top_k, num - 1)]
    i = np.repeat(np.arange(num), nearest.shape[1])
    pairs = np.sort(np.stack([i, nearest.ravel()], axis=-1), axis=-1)
    return [(int(a), int(b)) for a, b in np.unique(pairs, axis=0)]


def _root(descriptors: NDArray[np.uint8]) -> FloatArray:
    """Unit vectors; pycolmap stores SIFT as RootSIFT already, scaled to bytes."""
    return normalize(descriptors.astype(np.float64))


def _learn_words(descriptors: Sequence[NDArray[np.uint8]], seed: int) -> FloatArray:
    from scipy.cluster.vq import kmeans2  # rarely needed, and slow to import

    rng = np.random.default_rng(seed)
    share = max(NUM_SAMPLES // len(descriptors), 1)
    sample = np.concatenate([part[rng.permutation(len(part))[:share]] for part in descriptors])
    if len(sample) == 0:
        return np.zeros((1, 128))
    num_words = min(NUM_WORDS, len(sample))
    return kmeans2(_root(sample), num_words, iter=12, minit="points", rng=rng)[0]


def _aggregate(descriptors: FloatArray, words: FloatArray) -> FloatArray:
    """VLAD of one photo, (num_words * 128,)."""
    if len(descriptors) == 0:
        return np.zeros(words.size)
    nearest = np.argmax(descriptors @ words.T - 0.5 * np.sum(words**2, axis=-1), axis=-1)
    residual = descriptors - words[nearest]
    total = np.zeros_like(words)
    np.add.at(total, nearest, residual)
    total = normalize(total)
    return normalize((np.sign(total) * np.sqrt(np.abs(total))).ravel())
