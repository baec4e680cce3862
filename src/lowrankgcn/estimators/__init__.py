"""The scikit-learn classifiers and their tools.

Both classifiers run on the same rails: rows → graphs → eigenpairs → model → distributions.

======================================== ==========================================================
``rows``, ``row_sample``                 validate X; sample the rows to fit to; results
``class_labels``                         validates y
``parameters``                           validates the parameters of both classifiers
``gcn_features``, ``gcn_setup``          build features, graph and kernels of a network
``gcn_fitting``, ``gcn_model``           run all steps; compute class distributions of rows
``gcn_classifier``                       :class:`GCNClassifier`
``gp_fitting``, ``gp_model``             run all steps; compute class distributions of rows
``gp_classifier``                        :class:`SpectralGPClassifier`
``evidence_attributes``, ``label_audit`` quality of predictions and labels as attributes
``gp_readouts``                          sets, explanations, suggestions
``label_notes``                          warnings about spellings and leaks
``semi_supervised``                      ``predict``, ``score`` and tags of both classifiers
``evidence``, ``explanation``            quality of predictions; what they depend on
``model_files``                          saves and loads classifiers
======================================== ==========================================================

Only ``gcn_fitting`` imports torch; only ``semi_supervised`` and the classifiers scikit-learn.

``parameters`` lists the defaults of networks and what chose them; ``evidence`` names the benchmark
that chose the width of its intervals. All other constants are conventions without a benchmark, or
limits of time and memory.
"""

from importlib import import_module
from typing import Any

# Imported on demand: a saved model predicts without scikit-learn, which is slow to load.
_MODULES = {
    "Contribution": "explanation",
    "ExplainedRow": "explanation",
    "Explanation": "explanation",
    "LearnedFilter": "gp_model",
    "Nearest": "explanation",
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
