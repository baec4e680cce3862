r"""Amplitudes and temperature by the leave-one-out loss, in closed form.

Classes are regressed on the kernel: with targets Y = onehot − 1/C and
:math:`G = c\,11^T + I + \sum_b a_b K_b` the coefficients are α = G⁻¹Y, and the scores of row i
without its own label are :math:`y_i - \alpha_i / (G^{-1})_{ii}`. The loss is the cross-entropy of
their softmax at temperature T.

>>> import numpy as np
>>> from lowrankgcn.gp.likelihood import CONSTANT, leave_one_out, targets
>>> classes = np.array([0, 0, 1, 1])
>>> alike = (classes[:, None] == classes) * 1.0
>>> loss = leave_one_out(CONSTANT + np.eye(4) + 5 * alike, targets(classes, 2), classes, 0.0)[0]
>>> bool(loss < 4 * np.log(2))
True
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray

#: Prior variance c of the constant, for tables with many labels.
CONSTANT = 10.0
# Prior standard deviations: of all log-amplitudes together, and of the log-temperature.
_TOGETHER, _TEMPERATURE = 1.5, 0.5
_STEPS = 30
_RANGE = (-10.0, 6.0)  # of log-amplitudes


def targets(classes: NDArray[np.intp], n_classes: int) -> FloatArray:
    """Return onehot − 1/C, shape (m, C)."""
    return np.eye(n_classes)[classes] - 1.0 / n_classes


def softmax(scores: FloatArray) -> FloatArray:
    """Return the softmax of each row."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return shares


def leave_one_out(
    G: FloatArray,
    Y: FloatArray,
    classes: NDArray[np.intp],
    log_temperature: float,
    weights: FloatArray | None = None,
) -> tuple[float, FloatArray, float]:
    r"""Compute the leave-one-out loss and its derivatives.

    Parameters
    ----------
    G : (m, m) array
    Y : (m, C) array
    classes : (m,) int array
    log_temperature : float
    weights : (m,) array, optional
        Weights of the rows in the loss.

    Returns
    -------
    loss : float
        Sum over the rows.
    gradient : (m, m) array
        Derivative by G. With residual scores :math:`z_i = y_i - \alpha_i/d_i`,
        d = diag(G⁻¹), and E the derivative by z, it is
        :math:`G^{-1} (E/d) \alpha^T - G^{-1} \mathrm{diag}((E \odot \alpha)1 / d^2) G^{-1}`.
    slope : float
        Derivative by the log-temperature.
    """
    rows = np.arange(len(classes))
    inverse = np.linalg.inv(G)
    alpha, d = inverse @ Y, inverse.diagonal()
    temperature = np.exp(log_temperature)
    Z = temperature * (Y - alpha / d[:, None])
    P = softmax(Z)
    E = P.copy()
    E[rows, classes] -= 1.0
    losses = -np.log(np.maximum(P[rows, classes], 1e-300))
    if weights is not None:
        E *= weights[:, None]
        losses *= weights
    slope = float((E * Z).sum())
    E *= temperature
    gradient = inverse @ (E / d[:, None]) @ alpha.T
    gradient -= (inverse * ((E * alpha).sum(axis=1) / d**2)) @ inverse
    return float(losses.sum()), gradient, slope


class Adaptation(NamedTuple):
    """What the labelled rows change in the prior.

    Attributes
    ----------
    shifts : (B,) array
        Shifts of the log-amplitudes.
    common : float
        Their common part, which also applies to blocks that are not adapted.
    temperature : float
        Shift of the log-temperature.
    loss : float
        Mean leave-one-out loss.
    """

    shifts: FloatArray
    common: float
    temperature: float
    loss: float


def adapt(
    kernels: FloatArray,
    Y: FloatArray,
    classes: NDArray[np.intp],
    log_amplitudes: FloatArray,
    log_temperature: float,
    constant: float = CONSTANT,
    spread: float = 1.0,
    weights: FloatArray | None = None,
) -> Adaptation:
    """Minimise the leave-one-out loss plus the penalty of the prior by L-BFGS.

    Parameters
    ----------
    kernels : (B, m, m) array
    Y, classes
        As for :func:`leave_one_out`.
    log_amplitudes : (B,) array
        Prior means.
    log_temperature : float
        Prior mean.
    constant : float
        Prior variance of the constant.
    spread : float
        Prior standard deviation s of each log-amplitude.
    weights : (m,) array, optional
        Of the rows; a row of weight w has noise of variance 1/w and counts w times in the loss.

    Notes
    -----
    log a_b = μ_b + 1.5 z₀ + s z_b and log T = log T₀ + 0.5 z_T with standard normal z. O(m³ + B m²)
    for each of at most 30 steps.
    """
    from scipy.optimize import minimize  # slow to load, and not used to predict

    n_blocks, m = len(kernels), len(classes)
    flat = kernels.reshape(n_blocks, m * m)
    mixing = np.c_[np.full(n_blocks, _TOGETHER), spread * np.eye(n_blocks)]
    weights = np.ones(m) if weights is None else weights
    base = constant + np.diag(1.0 / weights)

    def penalised(z: FloatArray) -> tuple[float, FloatArray]:
        amplitudes = np.exp(np.clip(log_amplitudes + mixing @ z[:-1], *_RANGE))
        G = base + (amplitudes @ flat).reshape(m, m)
        shifted = log_temperature + _TEMPERATURE * z[-1]
        loss, gradient, slope = leave_one_out(G, Y, classes, shifted, weights)
        by_amplitude = amplitudes * (flat @ gradient.ravel())
        slopes = np.append(mixing.T @ by_amplitude, _TEMPERATURE * slope)
        return loss + float(z @ z) / 2, slopes + z  # the penalty of the prior

    start, options = np.zeros(n_blocks + 2), {"maxiter": _STEPS}
    result = minimize(penalised, start, jac=True, method="L-BFGS-B", options=options)
    z, loss = result.x, result.fun - float(result.x @ result.x) / 2
    return Adaptation(mixing @ z[:-1], _TOGETHER * z[0], _TEMPERATURE * z[-1], loss / weights.sum())
