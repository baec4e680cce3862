"""Results of a fitted table: lines, entries of the JSON document, the report and the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lowrankgcn
from lowrankgcn._format import count, percent, plural
from lowrankgcn._progress import report_progress
from lowrankgcn.cli import terminal

if TYPE_CHECKING:
    from lowrankgcn.cli.labelled_table import LabelledTable
    from lowrankgcn.cli.tally import Tally
    from lowrankgcn.estimators.evidence import Evidence

_LEAST_SHARE = 0.05  # of what the predictions depend on, to be named
_REASONS = 3  # named on the console
_KINDS = {"number": "numeric", "date": "date", "category": "categorical"}
_KINDS |= {"text": "free text", "vector": "vector"}


def write_report(
    path: Path, data: LabelledTable, classifier: Any, evidence: Evidence | None, **about: Any
) -> None:
    """Write the HTML page; `about` has further attributes of :class:`Classification`."""
    report_progress("drawing the report")
    from lowrankgcn.report.classification import Classification
    from lowrankgcn.report.pages import render_classification  # loads Jinja2

    about |= {"columns": data.columns, "source": data.table.name}
    about["numbers"] = data.table.frame.index.to_numpy()
    about |= {"evidence": evidence, "seed": classifier.random_state}
    classification = Classification(classifier, data.table.frame, data.labels, **about)
    terminal.write_output(path, render_classification(classification), "--report")


def save_model(
    path: Path, data: LabelledTable, classifier: Any, unreadable: Mapping[Any, int] | None = None
) -> None:
    """Write a fitted classifier with the columns it needs; cells of some may be unreadable.

    The probabilities of the fitted rows are in the table that the command writes.
    """
    more = [name for name, cells in (unreadable or {}).items() if cells]
    missing = tuple(dict.fromkeys([*data.columns.unreadable_as_missing, *more]))
    columns = replace(data.columns, unreadable_as_missing=missing)
    described = {"columns": columns, "type": data.type, "source": data.table.name}
    only_fitted = data.source is None and bool(classifier._fit.fitted_only)
    with terminal.one_line_errors("--save", writing=path):
        lowrankgcn.save(classifier, path, fitted_rows=only_fitted, description=described)


def fit_summary(
    data: LabelledTable, tally: Tally, classifier: Any, evidence: Evidence | None
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return lines, and entries of the JSON document, about the table and the fit."""
    columns, n_rows, n_labelled = data.columns, tally.n_rows, tally.n_labelled
    kinds = Counter(_KINDS[kind] for kind in columns.used.values())
    kinds_text = ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "a graph"
    process = hasattr(classifier, "graphs_")
    built = classifier.graphs_.values() if process else [classifier.graph_]
    graphs = ", ".join(dict.fromkeys(graph.description.name for graph in built))
    facts = {
        "table": f"{data.table.name}: {plural(n_rows, 'row')}, "
        f"{plural(len(columns.used), 'column')} used ({kinds_text})",
        "target": f"{terminal.name_text(columns.target)}: {plural(n_labelled, 'row')} labelled"
        + (f", {count(n_rows - n_labelled)} to classify" if n_rows > n_labelled else ""),
        "graph": graphs,
    }
    document: dict[str, Any] = {
        "table": data.table.name,
        "target": columns.target,
        "method": "gcn" if evidence is None else "gp",
        "seed": classifier.random_state,
        "rows": n_rows,
        "labelled": n_labelled,
        "columns": columns.used,
        "left_out": columns.left_out,
        "graph": graphs,
    }
    if evidence is None:
        return facts, document
    facts |= _accuracy_facts(evidence)
    facts["decided"] = f"mostly by {decision_text(evidence.kinds)}"
    importance = evidence.importance
    if importance:
        facts["columns"] = terminal.shares_text(importance)
    without_own_label = ("accuracy", "interval", "balanced_accuracy", "f1", "log_loss")
    known = evidence.is_known
    document |= {
        f"loo_{name}": getattr(evidence, name) if known else None for name in without_own_label
    }
    document |= {
        "loo_meaning": evidence.meaning,
        "loo_correct": evidence.n_correct,
        "unseen_share": evidence.unseen if evidence.unseen >= 0 else None,
        "overconfidence": evidence.overconfidence if known else None,
        "reliability": [part._asdict() for part in evidence.reliability],
        "largest_class": evidence.largest_class,
        "block_shares": evidence.block_shares,
        "column_importance": importance,
    }
    return facts, document


def _accuracy_facts(evidence: Evidence) -> dict[str, str]:
    """Return lines about the accuracy."""
    if not evidence.is_known:
        return {"accuracy": evidence.meaning}
    low, high = (percent(share, 0) for share in evidence.interval)
    classes = len(evidence.class_counts)
    over = "the classes"
    if evidence.n_scored < classes:
        over = f"{evidence.n_scored} of {classes} classes, those with two labels or more"
    facts = {
        "accuracy": f"about {percent(evidence.accuracy)}, 90 % interval {low} to {high}: "
        f"{evidence.meaning}; {evidence.n_correct} of "
        f"{plural(len(evidence.codes), 'labelled row')} predicted correctly without their own "
        f"label; largest class {percent(evidence.largest_class)}",
        "balanced": f"accuracy {percent(evidence.balanced_accuracy)} and F1 "
        f"{percent(evidence.f1)} as means over {over}; log-loss {evidence.log_loss:.3g}",
        "calibration": evidence.calibration,
    }
    if evidence.unseen_text:
        facts["other classes"] = evidence.unseen_text
    return facts


def decision_text(shares: Mapping[str, float]) -> str:
    """Return the two or three largest shares as a phrase.

    >>> decision_text({"similar rows": 0.68, "shared values": 0.13, "trends": 0.02})
    'similar rows (68 %) and shared values (13 %)'
    """
    large = [(name, share) for name, share in shares.items() if share >= _LEAST_SHARE]
    parts = [f"{name} ({percent(share, 0)})" for name, share in large[:_REASONS]]
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
