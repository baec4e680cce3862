"""The scikit-learn classifiers and their tools.

================================================= =================================================
``rows``, ``labels``                              validate X and y, for all classifiers
``base``                                          ``predict``, ``score`` and tags of all classifiers
``explanation``                                   values that explain a prediction
``persistence``                                   saves and loads classifiers
``gp_fitting``, ``gp_model``, ``spectral_gp``     run all steps behind :class:`SpectralGPClassifier`
``settings``                                      validates the parameters of networks
``inputs``                                        turns rows into features and graph coordinates
``graph_choice``                                  chooses and builds the graph
``kernels``                                       chooses and scales the kernels
``model``                                         computes class distributions of rows
``networks``                                      trains the restarts, and turns them into a model
``fitting``, ``gcn``                              run all steps behind :class:`GCNClassifier`
================================================= =================================================

Only ``networks`` and ``fitting`` import torch, and only ``base`` and the classifiers scikit-learn.
"""

from importlib import import_module
from typing import Any

# Imported on demand: a saved model predicts without scikit-learn, which is slow to load.
_MODULES = {
    "Contribution": "explanation",
    "ExplainedRow": "explanation",
    "Explanation": "explanation",
    "LearnedFilter": "gp_model",
    "GCNClassifier": "gcn_classifier",
    "SpectralGPClassifier": "gp_classifier",
    "first_rows": "gp_classifier",
    "load": "model_files",
    "save": "model_files",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
