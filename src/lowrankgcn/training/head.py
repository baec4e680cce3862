r"""The last layer, for labelled rows only, and the loss on it.

The loss of section A4.3 is a weighted mean of cross-entropies, with weights of sum one:

.. math:: L = -\sum_{i \in I} w_i \sum_c T_{ic} \log \mathrm{softmax}(Z_i)_c, \qquad
          \partial L / \partial Z = w \circ (\mathrm{softmax}(Z) - T)

Logits are kept with classes first, shape (s, C, \|I\|) for s restarts: a projection then is one
matrix product for all of them.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from lowrankgcn.training.calls import Call, call
from lowrankgcn.training.problem import OperatorReadout, TrainingProblem

__all__ = ["CrossEntropy", "Head", "batch"]


def batch(x: Tensor) -> Tensor:
    """A batch of one as a matrix: products of matrices start sooner than those of batches."""
    return x[0] if len(x) == 1 else x


@final
class CrossEntropy:
    """The loss and its derivative with respect to the logits, after adding the last bias."""

    def __init__(
        self,
        problem: TrainingProblem,
        n_restarts: int,
        bias: Tensor | None,
        bias_gradient: Tensor | None,
    ) -> None:
        weights, classes = problem.sample_weight, problem.widths[-1]  # (p,) or (s, p)
        self._row_weights = batch(weights) if weights.ndim == 2 else weights
        by_class = self._row_weights.unsqueeze(-2)
        self._weights = by_class.expand(*by_class.shape[:-2], classes, -1).clone()
        self._negative = -problem.targets.T * by_class
        self._offset = self._negative.clone()
        self._totals = problem.targets.sum(dim=1)
        self._bias = None if bias is None else bias.view(-1, 1)
        self._bias_gradient = None if bias_gradient is None else bias_gradient.view(-1)
        labelled = weights.shape[-1]
        self.error = batch(weights.new_empty(n_restarts, classes, labelled))
        self.flat = self.error.view(n_restarts * classes, labelled)

    def calls(self, logits: Tensor, flat: Tensor) -> list[Call]:
        """Add the bias to the logits; set ``error`` to the derivative, and the bias's gradient."""
        calls: list[Call] = [
            call(torch.softmax, logits, -2, out=self.error),
            call(torch.addcmul, self._offset, self.error, self._weights, out=self.error),
        ]
        if self._bias is not None:
            calls.insert(0, call(flat.add_, self._bias))
        if self._bias_gradient is not None:
            calls.append(call(torch.sum, self.flat, 1, out=self._bias_gradient))
        return calls

    def scale_derivatives(self, factor: float) -> None:
        """Multiply all derivatives, not the losses, by a factor from now on, at no cost."""
        self._weights.mul_(factor)
        self._offset.mul_(factor)

    def losses(self, logits: Tensor) -> Tensor:
        """Loss for each of (…, C, |I|) logits, in float64: it is a sum of nearly equal numbers."""
        Z = logits.double()
        entropy = torch.logsumexp(Z, -2) * (self._totals * self._row_weights).double()
        chosen = (self._negative.double() * Z).sum(-2)
        return (entropy + chosen).sum(-1)


@final
class Head:
    """Last layer of s networks: logits, gradient of its weights, error of what it reads.

    Parameters
    ----------
    problem : TrainingProblem
    weight, gradient : (s, C, K·N) Tensor
    loss : CrossEntropy
    last : (s·N, m) Tensor
        Output of the last hidden layer; read directly where the readout begins with it.
    by_column : bool
        Whether ``read`` and its error are stored by columns, which suits products over all nodes.

    Attributes
    ----------
    read, read_error : (s·N, p) Tensor
        Product of `last` with the tall matrix of the readout, and the error of it.
    """

    def __init__(
        self,
        problem: TrainingProblem,
        weight: Tensor,
        gradient: Tensor,
        loss: CrossEntropy,
        last: Tensor,
        by_column: bool,
    ) -> None:
        readout, K, N = problem.readout, problem.n_kernels, problem.widths[-2]
        labelled, classes, s = len(problem.targets), problem.widths[-1], len(weight)
        self._loss = loss
        self._product = torch.mm if s == 1 else torch.bmm
        matrices = None if readout is None or isinstance(readout, OperatorReadout) else readout
        self._responses = None if matrices is None else matrices.responses
        self._project = None if matrices is None else matrices.project
        rows = labelled if self._project is None else self._project.shape[1]
        columns = K * rows if self._responses is None else rows
        new = weight.new_empty
        direct = matrices is not None and matrices.tall is None
        shape = (columns, s * N) if by_column else (s * N, columns)
        read, self.read_error = (x.T if by_column else x for x in (new(shape), new(shape)))
        self.read = last if direct else read
        self._by_kernel = (s, K, N, rows)
        self._inputs = self._errors = None
        inputs, errors = self.read, self.read_error
        if K > 1:
            inputs, errors = (new(s, K, N, rows) for _ in range(2))
            self._inputs, self._errors = inputs, errors
        self._input, self._input_error = (batch(x.view(s, K * N, rows)) for x in (inputs, errors))
        self._input_t = self._input.mT
        self._weight, self._weight_t = batch(weight), batch(weight).mT
        self._gradient = batch(gradient)
        if self._project is not None:
            self._project_t = self._project.T
            self._inner, self._inner_error = (new(s * classes, rows) for _ in range(2))
            self._inner_batch = batch(self._inner.view(s, classes, rows))
            self._inner_error_batch = batch(self._inner_error.view(s, classes, rows))

    def calls(self, logits: Tensor, flat: Tensor) -> list[Call]:
        """From ``read`` to the logits, the gradient and ``read_error``."""
        calls: list[Call] = []
        if self._inputs is not None:
            calls.append(call(self._gather, self._inputs))
        error = self._loss.error
        if self._project is None:
            calls.append(call(self._product, self._weight, self._input, out=logits))
            calls += self._loss.calls(logits, flat)
        else:
            calls.append(call(self._product, self._weight, self._input, out=self._inner_batch))
            calls.append(call(torch.mm, self._inner, self._project_t, out=flat))
            calls += self._loss.calls(logits, flat)
            calls.append(call(torch.mm, self._loss.flat, self._project, out=self._inner_error))
            error = self._inner_error_batch
        calls.append(call(self._product, error, self._input_t, out=self._gradient))
        calls.append(call(self._product, self._weight_t, error, out=self._input_error))
        if self._errors is not None:
            calls.append(call(self._scatter, self._errors))
        return calls

    def _gather(self, inputs: Tensor) -> None:
        """Lay the K parts that the weights expect side by side."""
        s, K, N, rows = self._by_kernel
        if self._responses is None:
            inputs.copy_(self.read.view(s, N, K, rows).transpose(1, 2))
        else:
            torch.mul(self.read.view(s, 1, N, rows), self._responses[:, None, :], out=inputs)

    def _scatter(self, errors: Tensor) -> None:
        s, K, N, rows = self._by_kernel
        if self._responses is None:
            self.read_error.view(s, N, K, rows).copy_(errors.transpose(1, 2))
        else:
            errors.mul_(self._responses[:, None, :])
            torch.sum(errors, 1, out=self.read_error.view(s, N, rows))
