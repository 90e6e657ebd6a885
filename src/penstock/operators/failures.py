"""The sentence for an exception in an operator, on any thread."""

from __future__ import annotations

from penstock.app.operators import Operator
from penstock.errors import OperatorError, PenstockError
from penstock.operators.python_functions import failure


def failure_of(operator: Operator | None, error: BaseException) -> BaseException:
    """An error that names the operator and the place where it was written; what does so already is left as it is."""
    if operator is None or isinstance(error, PenstockError) or not isinstance(error, Exception):
        return error
    place = "" if operator.place is None else f" ({operator.place})"
    named = OperatorError(f"operator '{operator.name}'{place} {failure(error)}")
    named.__cause__ = error
    return named
