"""Reports: results laid out as one self-contained HTML file.

``study`` and ``classification`` hold what is known, ``figures`` and ``marks`` draw it, ``layout``
and ``svg`` are what every page is made of, ``study_page`` and ``classification_page`` lay it out.
"""

from lowrankgcn.report.classification import Classification
from lowrankgcn.report.classification_page import render_classification
from lowrankgcn.report.embedding import class_plane, spectral_embedding
from lowrankgcn.report.study import KernelSummary, Study, Task
from lowrankgcn.report.study_page import render

__all__ = [
    "Classification",
    "KernelSummary",
    "Study",
    "Task",
    "class_plane",
    "render",
    "render_classification",
    "spectral_embedding",
]
