"""The estimator, in the order in which data passes through it.

``labels`` and ``reading`` take y and X as they come; ``inputs`` says what graph and network see of
them; ``graph_choice`` joins the rows; ``proposals`` lists what may be trained; ``candidates``
scales it; ``selection`` compares; ``members`` are trained and extended to new rows; ``model``
predicts; ``fitting`` calls all of them and ``classifier`` is the face of it.
``validation`` says how often it is right.
``questions`` are what else one may ask it: ``explaining`` says why, from ``evidence``,
``attribution`` and ``pulls``, in an ``explanation``; ``suggestion`` and ``cold_start`` say which
rows to label.
``persistence`` keeps it in a file, with ``saved_model`` and ``plain`` for the parts.
"""

from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.cold_start import first_rows
from lowrankgcn.estimators.explanation import Contribution, ExplainedRow, Explanation
from lowrankgcn.estimators.persistence import load, save
from lowrankgcn.estimators.selection import Selection
from lowrankgcn.estimators.validation import Validation, cross_validate

__all__ = [
    "Contribution",
    "ExplainedRow",
    "Explanation",
    "GCNClassifier",
    "Selection",
    "Validation",
    "cross_validate",
    "first_rows",
    "load",
    "save",
]
