"""The estimator, in the order in which data passes through it.

``labels`` and ``reading`` take y and X as they come; ``inputs`` says what graph and network see of
them; ``graph_choice`` joins the rows; ``proposals`` lists what may be trained; ``candidates``
scales it; ``selection`` compares; ``members`` are trained and extended to new rows; ``model``
predicts; ``fitting`` calls all of them and ``classifier`` is the face of it.
``validation`` says how often it is right.
``persistence`` keeps it in a file, with ``saved_model`` and ``plain`` for the parts.
"""

from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.persistence import load, save
from lowrankgcn.estimators.selection import Selection
from lowrankgcn.estimators.validation import Validation, cross_validate

__all__ = ["GCNClassifier", "Selection", "Validation", "cross_validate", "load", "save"]
