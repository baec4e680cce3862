"""Optimisers for s independent restarts.

Gradient descent with step 0.2 is the paper's choice (section A4.3); Adam reaches the same losses in
fewer iterations. An optimiser is a small value that updates parameters in place:

>>> GradientDescent(), Adam(learning_rate=0.02).betas
(GradientDescent(learning_rate=0.2), (0.9, 0.999))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from torch import Tensor

from lowrankgcn._validation import LARGEST_OPTION, positive_float


class Optimizer:
    """Base class of the optimisers, which are frozen descriptions.

    Attributes
    ----------
    n_moments : int
        Number of arrays of the shape of the parameters that it keeps between iterations. Without
        them, the iterates are the same in every orthonormal basis of the weights.

    See Also
    --------
    GradientDescent, Adam : The optimisers.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> [optimizer.n_moments for optimizer in (lg.nn.GradientDescent(0.5), lg.nn.Adam())]
    [0, 2]
    """

    n_moments = 0

    def update(self, x: Tensor, gradient: Tensor, moments: list[Tensor], iteration: int) -> None:
        """Change the parameters x and the moments in place.

        Parameters
        ----------
        x, gradient : (s, P) Tensor
        moments : list of (s, P) Tensor
            Zero before the first iteration.
        iteration : int
            Number of the iteration, counted from one.
        """
        raise NotImplementedError


@final
@dataclass(frozen=True)
class GradientDescent(Optimizer):
    """Θ ← Θ − η ∂L(Θ) with a fixed step η.

    Parameters
    ----------
    learning_rate : float
        η.

    See Also
    --------
    Adam : Another optimiser.
    train : Trains a network.

    Examples
    --------
    >>> from lowrankgcn.nn import GradientDescent
    >>> GradientDescent(0.1)
    GradientDescent(learning_rate=0.1)
    """

    learning_rate: float = 0.2

    def __post_init__(self) -> None:
        """Check the step."""
        positive_float(self.learning_rate, "learning_rate", maximum=LARGEST_OPTION)

    def update(self, x: Tensor, gradient: Tensor, moments: list[Tensor], iteration: int) -> None:
        """Change the parameters; there are no moments."""
        x.add_(gradient, alpha=-self.learning_rate)


@final
@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam: steps scaled by running moments of the gradient.

    Parameters
    ----------
    learning_rate : float
    betas : (float, float)
        Decay of the first and the second moment.
    eps : float
        Added to the root of the second moment.

    See Also
    --------
    GradientDescent : Another optimiser.
    train : Trains a network.

    Notes
    -----
    The penalty is part of the gradient, so it is scaled with it.

    Examples
    --------
    >>> from lowrankgcn.nn import Adam
    >>> Adam(0.02)
    Adam(learning_rate=0.02, betas=(0.9, 0.999), eps=1e-08)
    """

    learning_rate: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    n_moments = 2

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive_float(self.learning_rate, "learning_rate", maximum=LARGEST_OPTION)
        positive_float(self.eps, "eps")
        for beta in self.betas:
            positive_float(beta, "betas", zero=True, below=1.0)

    def update(self, x: Tensor, gradient: Tensor, moments: list[Tensor], iteration: int) -> None:
        """Change parameters and moments."""
        (mean, square), (first, second) = moments, self.betas
        mean.lerp_(gradient, 1.0 - first)
        square.mul_(second).addcmul_(gradient, gradient, value=1.0 - second)
        root = square.sqrt().div_(math.sqrt(1.0 - second**iteration)).add_(self.eps)
        step = self.learning_rate / (1.0 - first**iteration)
        x.addcdiv_(mean, root, value=-step)
