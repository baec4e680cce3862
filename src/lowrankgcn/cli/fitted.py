"""A table with its fitted classifier: report, model file and summary of ``classify``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from lowrankgcn._atomic import write_text
from lowrankgcn._codec import encode
from lowrankgcn._format import count, percent, plural
from lowrankgcn._progress import report_progress
from lowrankgcn.cli import errors, output
from lowrankgcn.cli.labelled_table import LabelledTable
from lowrankgcn.cli.output import Summary
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.progress import Run
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.model_files import save as save_model
from lowrankgcn.report.classification import Classification

_KINDS = {"number": "numeric", "date": "date", "category": "categorical", "text": "free text"}


@final
@dataclass(frozen=True, eq=False)
class FittedTable:
    """A table, its fitted classifier and its predictions; networks have no evidence."""

    data: LabelledTable
    classifier: Any
    predictions: Predictions
    evidence: Evidence | None
    warnings: Sequence[str] = ()

    @classmethod
    def fit(
        cls,
        data: LabelledTable,
        classifier: Any,
        importance: bool,
        run: Run,
        *,
        level: float | None = None,
    ) -> FittedTable:
        """Fit a classifier and gather its evidence.

        Parameters
        ----------
        importance : bool
            Whether to rank the columns.
        level : float, optional
            Probability with which sets of classes contain the true one.
        """
        with run.computing("fitting"):
            classifier.set_params(**data.graph_option).fit(data.rows, data.labels)
        run.seconds |= classifier.timings_
        predictions = data.predictions(classifier)
        if level is not None:
            with run.timing("sets"), run.progress("sets of classes"):
                sets, unsure = classifier.prediction_sets(level=level), classifier.unsure()
            predictions = replace(predictions, level=level, sets=sets, unsure=unsure)
        with run.timing("importance"), run.progress("importance of the columns"):
            evidence = Evidence.from_classifier(classifier, importance=importance)
        return cls(data, classifier, predictions, evidence, run.warnings)

    def write_report(self, path: Path, command: str, seconds: Mapping[str, float]) -> None:
        """Write the HTML page."""
        report_progress("drawing the report")
        from lowrankgcn.report.pages import render_classification  # loads Jinja2

        classification = Classification(
            self.classifier,
            self.data.table.frame,
            self.data.labels,
            columns=self.data.columns,
            evidence=self.evidence,
            source=self.data.table.name,
            seconds=seconds,
            warnings=self.warnings,
            notes=self.data.notes,
            facts=self.predictions.set_facts(),
            command=command,
            seed=self.classifier.random_state,
        )
        with errors.exit_on_write_error(path, "--report"):
            write_text(path, render_classification(classification))

    def save(self, path: Path) -> None:
        """Write the model with the columns it needs."""
        described = {
            "columns": encode(self.data.columns)[1],
            "type": self.predictions.type,
            "source": self.data.table.name,
        }
        with errors.exit_on_write_error(path, "--save"), errors.exit_on_user_error("--save"):
            save_model(self.classifier, path, description=described)

    def summary(self, files: dict[str, str], *, rows_printed: bool) -> Summary:
        """Summarise the run, which has written some files and perhaps rows of the table."""
        data, evidence, predictions = self.data, self.evidence, self.predictions
        columns, n_rows, n_labelled = data.columns, len(data.labels), data.n_labelled
        kinds = Counter(_KINDS[kind] for kind in columns.used.values())
        kinds_text = ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "a graph"
        process = hasattr(self.classifier, "graphs_")
        built = self.classifier.graphs_.values() if process else [self.classifier.graph_]
        graphs = ", ".join(dict.fromkeys(graph.description.name for graph in built))
        facts = {
            "table": f"{data.table.name}: {plural(n_rows, 'row')}, "
            f"{plural(len(columns.used), 'column')} used ({kinds_text})",
            "target": f"{output.name_text(columns.target)}: {plural(n_labelled, 'row')} labelled, "
            f"{count(n_rows - n_labelled)} to classify",
            "graph": graphs,
        }
        document: dict[str, Any] = {
            "table": data.table.name,
            "target": columns.target,
            "method": "gcn" if evidence is None else "gp",
            "seed": self.classifier.random_state,
            "rows": n_rows,
            "labelled": n_labelled,
            "columns": dict(columns.used),
            "left_out": dict(columns.left_out),
            "graph": graphs,
        }
        if evidence is not None:
            low, high = (percent(share, 0) for share in evidence.interval)
            rows = plural(len(evidence.codes), "labelled row")
            facts["accuracy"] = (
                f"{percent(evidence.accuracy)} of {rows} predicted correctly without their own "
                f"label; 90 % interval {low} to {high}; largest class "
                f"{percent(evidence.largest_class)}"
            )
            facts["balanced"] = (
                f"accuracy {percent(evidence.balanced_accuracy)} and F1 {percent(evidence.f1)} as "
                f"means over the classes; log-loss {evidence.log_loss:.3g}"
            )
            facts["calibration"] = evidence.calibration
            facts["blocks"] = output.shares_text(evidence.kinds)
            importance = columns.column_sums(evidence.importance)
            if importance:
                facts["columns"] = output.shares_text(importance)
            document |= {
                "loo_accuracy": evidence.accuracy,
                "loo_interval": evidence.interval,
                "loo_balanced_accuracy": evidence.balanced_accuracy,
                "loo_f1": evidence.f1,
                "loo_log_loss": evidence.log_loss,
                "overconfidence": evidence.overconfidence,
                "reliability": [part._asdict() for part in evidence.reliability],
                "largest_class": evidence.largest_class,
                "block_shares": evidence.block_shares,
                "column_importance": importance,
            }
        facts |= predictions.set_facts()
        if predictions.unsure is not None:
            document["unsure"] = int((predictions.unsure & predictions.unlabelled).sum())
        notes = list(data.notes)
        if rows_printed or "written" in files:
            notes += predictions.renamed_notes(data.table.frame.columns)
        scores = {} if evidence is None else evidence.scores
        return Summary(predictions, facts, document, notes, files, scores)
