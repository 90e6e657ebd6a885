"""A session of the user's has its own settings again after starts, also where several go on at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from penstock.spark.session.session import runtime_settings, with_runtime_settings

KEYS = [*runtime_settings()]


class Conf(dict[str, str]):
    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        self.pop(key, None)


def test_starts_at_once_leave_the_users_settings_as_they_were() -> None:
    conf = Conf({KEYS[0]: "the user's", "spark.other": "1"})
    session: Any = SimpleNamespace(conf=conf)
    is_in, may_end, order = threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        with with_runtime_settings(session):
            assert {key: conf[key] for key in KEYS} == runtime_settings()
            is_in.set()
            may_end.wait(10)
            order.append("first")

    def second() -> None:
        with with_runtime_settings(session):
            order.append("second")

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert is_in.wait(10)
    threads[1].start()
    threads[1].join(0.1)
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert order == ["first", "second"]
    assert conf == {KEYS[0]: "the user's", "spark.other": "1"}
