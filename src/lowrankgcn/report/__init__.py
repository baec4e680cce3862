"""Reports: results laid out as one self-contained HTML file.

``classification`` and ``study`` hold results, ``figures`` draws them, ``pages`` renders the
Jinja2 templates.
"""

from lowrankgcn.report.classification import Classification
from lowrankgcn.report.embedding import class_plane, spectral_embedding
from lowrankgcn.report.pages import render_classification, render_page, render_studies
from lowrankgcn.report.study import KernelSummary, Study, TargetResult

__all__ = [
    "Classification",
    "KernelSummary",
    "Study",
    "TargetResult",
    "class_plane",
    "render_classification",
    "render_page",
    "render_studies",
    "spectral_embedding",
]
