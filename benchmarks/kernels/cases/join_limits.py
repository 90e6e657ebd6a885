"""Limits of the window join of MODEL's A.4: bids <count 30> and offers <count 15>, equal product, offer <= bid.

Both loops get the two inputs merged already: port 0 for bids, 1 for offers, which have no bidder. `chained` finds the
partners of a product through links between its tuples and is the limit; `scanned` reads whole windows and is shown for
information.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from benchmarks.kernels.loop import Array

BIDS, OFFERS = 30, 15
_BID_SLOTS, _OFFER_SLOTS = 32, 16  # powers of two, so that a slot is a mask away
_NEVER = -1000


def join_outputs(rows: int) -> dict[str, Array]:
    """Room for the results of one block of `rows` tuples; as many as if all were of one product."""
    capacity = rows * BIDS
    return {"bidder": np.zeros(capacity, np.int32), "product": np.zeros(capacity, np.int32),
            "bid": np.zeros(capacity), "offer": np.zeros(capacity)}  # fmt: skip


def chained_state(products: int) -> tuple[Array, ...]:
    """Tuples seen; per window its ring, links to the tuple of the same product before, and each product's newest."""
    bids = (
        np.zeros(_BID_SLOTS, np.int32),
        np.zeros(_BID_SLOTS),
        np.zeros(_BID_SLOTS, np.int64),
        np.full(products, _NEVER),
    )
    offers = (np.zeros(_OFFER_SLOTS), np.zeros(_OFFER_SLOTS, np.int64), np.full(products, _NEVER))
    return (np.zeros(2, np.int64), *bids, *offers)


def scanned_state(rows: int) -> tuple[Array, ...]:
    """Tuples held; windows followed by room for one block."""
    bids = (np.zeros(BIDS + rows, np.int32), np.zeros(BIDS + rows, np.int32), np.zeros(BIDS + rows))
    return (np.zeros(2, np.int64), *bids, np.zeros(OFFERS + rows, np.int32), np.zeros(OFFERS + rows))


@nb.njit(nogil=True, cache=True, error_model="numpy")
def chained(ports, products, prices, bidders,  # type: ignore[no-untyped-def]
            seen, held_bidder, held_bid, bid_before, newest_bid, held_offer, offer_before, newest_offer,
            out_bidder, out_product, out_bid, out_offer):  # fmt: skip
    """Links give the newest partner first, so the few results of one tuple are turned round."""
    j = 0
    bids, offers = seen
    for i in range(ports.shape[0]):
        first = j
        product, price = products[i], prices[i]
        if ports[i] == 0:
            who = bidders[i]
            slot = bids & (_BID_SLOTS - 1)
            held_bidder[slot], held_bid[slot], bid_before[slot] = who, price, newest_bid[product]
            newest_bid[product] = bids
            bids += 1
            partner = newest_offer[product]
            while partner >= offers - OFFERS:
                slot = partner & (_OFFER_SLOTS - 1)
                if held_offer[slot] <= price:
                    out_bidder[j], out_product[j], out_bid[j], out_offer[j] = who, product, price, held_offer[slot]
                    j += 1
                partner = offer_before[slot]
        else:
            slot = offers & (_OFFER_SLOTS - 1)
            held_offer[slot], offer_before[slot] = price, newest_offer[product]
            newest_offer[product] = offers
            offers += 1
            partner = newest_bid[product]
            while partner >= bids - BIDS:
                slot = partner & (_BID_SLOTS - 1)
                if price <= held_bid[slot]:
                    who, bid = held_bidder[slot], held_bid[slot]
                    out_bidder[j], out_product[j], out_bid[j], out_offer[j] = who, product, bid, price
                    j += 1
                partner = bid_before[slot]
        last = j - 1
        while first < last:
            out_bidder[first], out_bidder[last] = out_bidder[last], out_bidder[first]
            out_bid[first], out_bid[last] = out_bid[last], out_bid[first]
            out_offer[first], out_offer[last] = out_offer[last], out_offer[first]
            first, last = first + 1, last - 1
    seen[0], seen[1] = bids, offers
    return j


@nb.njit(nogil=True, cache=True, error_model="numpy")
def scanned(ports, products, prices, bidders,  # type: ignore[no-untyped-def]
            held, held_bidder, held_bid_product, held_bid, held_offer_product, held_offer,
            out_bidder, out_product, out_bid, out_offer):  # fmt: skip
    """Windows lie in line, so that reading one is a run over adjacent entries; what they hold is kept for the next."""
    j = 0
    bids, offers = held
    for i in range(ports.shape[0]):
        product, price = products[i], prices[i]
        if ports[i] == 0:
            who = bidders[i]
            held_bidder[bids], held_bid_product[bids], held_bid[bids] = who, product, price
            bids += 1
            for q in range(max(offers - OFFERS, 0), offers):
                if held_offer_product[q] == product and held_offer[q] <= price:
                    out_bidder[j], out_product[j], out_bid[j], out_offer[j] = who, product, price, held_offer[q]
                    j += 1
        else:
            held_offer_product[offers], held_offer[offers] = product, price
            offers += 1
            for q in range(max(bids - BIDS, 0), bids):
                if held_bid_product[q] == product and price <= held_bid[q]:
                    who, bid = held_bidder[q], held_bid[q]
                    out_bidder[j], out_product[j], out_bid[j], out_offer[j] = who, product, bid, price
                    j += 1
    held[0], held[1] = min(bids, BIDS), min(offers, OFFERS)
    for q in range(held[0]):
        old = bids - held[0] + q
        held_bidder[q], held_bid_product[q], held_bid[q] = held_bidder[old], held_bid_product[old], held_bid[old]
    for q in range(held[1]):
        old = offers - held[1] + q
        held_offer_product[q], held_offer[q] = held_offer_product[old], held_offer[old]
    return j
