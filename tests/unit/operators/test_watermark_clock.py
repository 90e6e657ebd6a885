"""The state of a watermark clock, as earlier versions named its parts."""

from __future__ import annotations

import numpy as np

from penstock.kernels.watermark import IDLE
from penstock.operators.watermark.watermark_clock import WatermarkClock
from penstock.plan.elements.watermarks import Watermark


def test_the_silence_of_an_earlier_checkpoint_is_restored() -> None:
    clock = WatermarkClock(Watermark((), step_us=1, rank=0))
    state = clock.export() | {"_partitions": {(0, 0): 0}, "_highest": np.array([5]), "_silence": np.array([IDLE])}
    earlier = {"_quiet" if name == "_silence" else name: value for name, value in state.items()}
    clock.restore(earlier)
    assert clock.export() == state
