"""The scikit-learn classifier and its tools.

================================================= =================================================
``rows``, ``labels``, ``settings``                validate X, y and the parameters
``inputs``, ``features``                          turn rows into features and graph coordinates
``graph_choice``                                  chooses and builds the graph
``proposals``, ``candidates``                     list the networks to train, and scale them
``selection``, ``training_task``, ``trained``     compare and train networks
``extended``, ``model``                           classify new rows
``fitting``, ``classifier``                       run all steps behind :class:`GCNClassifier`
``validation``                                    estimates the accuracy
``inspection``                                    adds ``explain`` and ``suggest`` to the classifier
``evidence``, ``contributions``                   data and formulas of explanations
``explaining``, ``explanation``                   compute and print explanations
``suggestion``, ``cold_start``                    choose rows to label
``persistence``                                   saves and loads classifiers
``dask_dispatch``                                 sends Dask collections to ``distributed``
================================================= =================================================
"""

from lowrankgcn.estimators.classifier import GCNClassifier
from lowrankgcn.estimators.cold_start import first_rows
from lowrankgcn.estimators.explanation import Contribution, ExplainedRow, Explanation
from lowrankgcn.estimators.persistence import load, save
from lowrankgcn.estimators.selection import Selection
from lowrankgcn.estimators.validation import Validation, estimate_accuracy

__all__ = [
    "Contribution",
    "ExplainedRow",
    "Explanation",
    "GCNClassifier",
    "Selection",
    "Validation",
    "estimate_accuracy",
    "first_rows",
    "load",
    "save",
]
