"""Reports: results laid out as one self-contained HTML file.

``study`` holds what is known about a graph, ``figures`` draws it, ``page`` lays it out.
"""

from lowrankgcn.report.embedding import class_plane, spectral_embedding
from lowrankgcn.report.page import render
from lowrankgcn.report.study import KernelSummary, Study, Task

__all__ = [
    "KernelSummary",
    "Study",
    "Task",
    "class_plane",
    "render",
    "spectral_embedding",
]
