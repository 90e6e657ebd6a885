"""Keys drawn by weight from one mixed word and one look-up: Walker's alias method, in whole numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit, types

from penstock.connectors.trace.market import Integers, generator

Words = npt.NDArray[np.uint64]
_ONE = 2**31  # the weight of the most frequent key


def zipf_alias(keys: int, seed: int, flat_ranks: int = 0) -> Words:
    """The alias table of keys whose frequency falls as 1 / (rank + flat_ranks); the seed says which key has which rank.

    Entry k holds, in its upper half, the share of draws of k that stay with k, in units of 2^-32, and in its lower
    half the key that the others go to.  Weights are whole numbers, so that the table is the same on every machine.
    """
    weights = np.empty(keys, np.int64)
    weights[generator(seed, "zipf").permutation(keys)] = _ONE // np.arange(1 + flat_ranks, keys + 1 + flat_ranks)
    table = np.empty(keys, np.uint64)
    _kernel()(weights * keys, int(weights.sum()), np.empty(keys, np.int64), table)
    return table


def _fill_table(shares: Integers, whole: int, order: Integers, table: Words) -> None:
    """Fills what light keys leave over with heavy ones; `shares` are weights times keys, `whole` their mean."""
    keys = len(shares)
    light, heavy = 0, keys  # stacks at both ends of `order`
    for key in range(keys):
        if shares[key] < whole:
            order[light] = key
            light += 1
        else:
            heavy -= 1
            order[heavy] = key
    while light > 0 and heavy < keys:
        light -= 1
        poor, rich = order[light], order[heavy]
        table[poor] = (np.uint64(shares[poor] / whole * 4294967296.0) << np.uint64(32)) | np.uint64(rich)
        shares[rich] -= whole - shares[poor]
        if shares[rich] < whole:
            heavy += 1
            order[light] = rich
            light += 1
    for place in range(light):
        table[order[place]] = np.uint64(order[place])
    for place in range(heavy, keys):
        table[order[place]] = np.uint64(order[place])


@functools.cache
def _kernel() -> Callable[..., None]:
    signature = types.void(types.int64[::1], types.int64, types.int64[::1], types.uint64[::1])
    kernel: Callable[..., None] = njit(signature, nogil=True, cache=True)(_fill_table)
    return kernel
