"""Which failures have a batch run again."""

from __future__ import annotations

import pytest

from penstock.runtime.driver.rolled_back import again_if_rolled_back

GIVEN_UP = "Job aborted: A shuffle map stage with indeterminate output was failed and retried. However, Spark cannot"

OLD_ATTEMPT = "Job aborted due to stage failure: Task with indeterminate results from old attempt succeeded, aborting"


class Action:
    """Fails some times with a text, then gives how often it was called."""

    def __init__(self, text: str, failures: int) -> None:
        self.text, self.failures, self.calls = text, failures, 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise RuntimeError(self.text)
        return self.calls


@pytest.mark.parametrize("text", [GIVEN_UP, OLD_ATTEMPT])
def test_a_batch_that_spark_gave_up_for_mixed_outputs_runs_again(text: str) -> None:
    assert again_if_rolled_back(Action(text, 3)) == 4


def test_it_does_not_run_for_ever() -> None:
    with pytest.raises(RuntimeError, match="indeterminate output"):
        again_if_rolled_back(Action(GIVEN_UP, 1000))


def test_any_other_failure_is_raised_at_once() -> None:
    action = Action("disk on fire", 1)
    with pytest.raises(RuntimeError, match="disk on fire"):
        again_if_rolled_back(action)
    assert action.calls == 1
