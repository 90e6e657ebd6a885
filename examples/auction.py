"""A join: every bid meets the newest offers of its product that cost no more, and the best deal of each bidder is kept.

penstock generate all --rows 20000 --output out/data
penstock evaluate examples/auction.py --data-dir out/data --output out/auction
"""

import penstock as ps

app = ps.Application("auction")

bids = app.source(
    "bids",
    ps.sources.csv("auction_bid.dat", header=False),
    schema={"bidder": "symbol", "product": "symbol", "price": "float64"},
    rate_tuples_s=10_000,
)
offers = app.source(
    "offers",
    ps.sources.csv("product_match.dat", header=False),
    schema={"product": "symbol", "price": "float64"},
    rate_tuples_s=5_000,
)
deals = bids.join(
    "deals",
    offers,
    on="product",
    where="right.price <= left.price",
    left_window=ps.sliding(count=30, per_group=True),
    right_window=ps.sliding(count=15, per_group=True),
    emit={
        "bidder": "bidder",
        "product": "left.product",
        "paid": "right.price",
        "saved": "left.price - right.price",
    },
)
best = deals.aggregate(
    "best",
    by="bidder",
    window=ps.tumbling(count=100, per_group=True),
    emit={"bidder": "any(bidder)", "deals": "count()", "saved": "max(saved)", "paid": "avg(paid)"},
)
deals.sink("all_deals")
best.sink("best_deals")

app.request("bids", partition="intake", host="node1")
app.request("offers", partition="intake")
app.request("deals", partition="matching", host="node2")
app.request("best", partition="matching")
