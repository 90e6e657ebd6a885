"""Work that gives way: a niceness of its own, results and errors as if called directly."""

import os
import sys
import threading

import pytest

from penstock.host.low_priority import at_priority


def _own_niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a niceness of their own on Linux alone")
def test_the_work_is_nice_and_its_caller_stays_as_it_was():
    before = _own_niceness()
    assert at_priority(_own_niceness, 19) == 19
    assert _own_niceness() == before
    assert at_priority(threading.get_native_id, 0) == threading.get_native_id()


def test_an_error_comes_to_the_caller():
    def fail() -> None:
        raise ValueError("not there")

    with pytest.raises(ValueError, match="not there"):
        at_priority(fail, 19)
