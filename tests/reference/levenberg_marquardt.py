"""Levenberg-Marquardt in its plainest form, for a polynomial: what lmfit does for PROACTIVE's application."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def levenberg_marquardt(x: Floats, y: Floats, degree: int, steps: int = 200) -> Floats:
    """Coefficients from zero on: a step of the damped normal equations, damping eased on success, else raised."""
    jacobian = np.vander(x, degree + 1, increasing=True)
    coefficients, damping = np.zeros(degree + 1), 1e-3
    error = float(((y - jacobian @ coefficients) ** 2).sum())
    for _ in range(steps):
        residual = y - jacobian @ coefficients
        normal = jacobian.T @ jacobian
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), jacobian.T @ residual)
        tried = float(((y - jacobian @ (coefficients + step)) ** 2).sum())
        if tried <= error:
            coefficients, error, damping = coefficients + step, tried, max(damping / 10, 1e-15)
        else:
            damping *= 10
    return coefficients
