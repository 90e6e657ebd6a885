"""Bids and offers of an auction (MODEL's A.4): some bids find an offer of their product that costs no more."""

from __future__ import annotations

from itertools import product
from string import ascii_uppercase

import numpy as np
import pyarrow as pa

from penstock.connectors.trace.market import Codes, Floats, draw_codes, generator, on_grid, texts, zipf_weights

_ADJECTIVES = ("antique", "blue", "brass", "carved", "gilded", "large", "small", "painted")
_NOUNS = ("bowl", "chair", "clock", "lamp", "mirror", "print", "table", "vase")
_PRODUCTS = pa.array([" ".join(pair) for pair in product(_ADJECTIVES, _NOUNS)], pa.string())
_FIRST_NAMES = ("Ada", "Ben", "Carla", "Dan", "Eva", "Finn", "Gita", "Hugo", "Ines", "Jan", "Kim", "Leo", "Mia", "Nils")
_BIDDERS = pa.array([f"{name} {letter}" for name, letter in product(_FIRST_NAMES, ascii_uppercase)], pa.string())
_VALUE_SPREAD = 0.2


def bids(rows: int, seed: int) -> pa.Table:
    """Table(bidderName, productName, bidPrice); bids lie a little below what a product is worth."""
    rng = generator(seed, "bids")
    codes, values = _products(rng, rows, seed)
    bidders = draw_codes(rng, rows, zipf_weights(len(_BIDDERS), exponent=0.5))
    prices = on_grid(values * 0.95 * np.exp(rng.normal(0.0, _VALUE_SPREAD, rows)))
    columns = {
        "bidderName": texts(bidders, _BIDDERS),
        "productName": texts(codes, _PRODUCTS),
        "bidPrice": pa.array(prices),
    }
    return pa.table(columns)


def offers(rows: int, seed: int) -> pa.Table:
    """Table(productName, offerPrice); offers lie around what a product is worth."""
    rng = generator(seed, "offers")
    codes, values = _products(rng, rows, seed)
    prices = on_grid(values * np.exp(rng.normal(0.0, _VALUE_SPREAD, rows)))
    return pa.table({"productName": texts(codes, _PRODUCTS), "offerPrice": pa.array(prices)})


def _products(rng: np.random.Generator, rows: int, seed: int) -> tuple[Codes, Floats]:
    """A product per row and its worth, the same for bids and offers of one seed; products are as popular in both."""
    shared = generator(seed, "products")
    worth = np.exp(shared.normal(np.log(80.0), 0.7, len(_PRODUCTS)))
    popularity = shared.permutation(zipf_weights(len(_PRODUCTS)))
    codes = rng.choice(len(_PRODUCTS), rows, p=popularity).astype(np.int32)
    return codes, np.asarray(worth[codes])
