"""``lowrankgcn demo``: classify built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from lowrankgcn._format import duration, percent
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Stopwatch, loading, progress
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

EXAMPLES = """Examples:

lowrankgcn demo

lowrankgcn demo --out demo-1 --seed 1
"""

_LABELS = {"cars": 100, "spiral": 50}
_POINTS = 2000  # of each of the five classes of the spiral
ENDINGS = (".csv", "-classified.csv", ".html")


def demo(
    out: options.ReportFolder = Path("demo-output"),
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a built-in table and a built-in point cloud, and write a report of each.

    Writes **DIR/cars.csv** (1728 cars, 100 of them labelled) and **DIR/spiral.csv** (10,000 points
    in space, 50 of them labelled), classifies both as **lowrankgcn classify** does, and compares
    the predictions with the true classes.
    """
    watch = Stopwatch()
    with loading(watch, shown=not quiet):
        import lowrankgcn.estimators
        from lowrankgcn import datasets

        kinds: list[Any] = [lowrankgcn.SpectralGPClassifier]
        if torch_installed():
            kinds.append(lowrankgcn.GCNClassifier)
    errors.prepare_folder(out)
    data = {
        "cars": (datasets.load_cars(as_frame=True), "acceptability"),
        "spiral": (datasets.load_spiral(_POINTS, random_state=seed, as_frame=True), "orb"),
    }
    found = {}
    for name, (given, target) in data.items():
        classifiers = [kind(random_state=seed) for kind in kinds]
        found[name] = _classify(name, given, target, classifiers, out, watch, not quiet)
    left_out = [] if torch_installed() else [f"GCNClassifier is left out: {TORCH_MISSING}"]
    if as_json:
        document = {"seed": seed, "data": found, "notes": left_out, "seconds": watch.total()}
        output.print_json(document)
        return
    console = Console(highlight=False, quiet=quiet)
    for name, facts in found.items():
        console.print(f"[bold]{name}[/bold]: {facts['rows']} rows, {facts['labels']} labelled")
        shares = {method: f"{percent(share)} correct" for method, share in facts["correct"].items()}
        shares[f"always {facts['largest_class']}"] = f"{percent(facts['largest_share'])} correct"
        output.print_facts(console, {**shares, "report": facts["report"]}, width=22)
        output.print_line(console, f"{'command':<22}{facts['command']}")
        console.print()
    for text in left_out:
        output.print_line(console, text)
    output.print_line(console, f"{duration(watch.total())}, lowrankgcn {lowrankgcn.__version__}")


def _classify(
    name: str, data: Any, target: str, classifiers: Any, out: Path, watch: Stopwatch, shown: bool
) -> dict[str, Any]:
    """Write a table with few labels, classify it, and count the correct predictions."""
    import numpy as np

    from lowrankgcn._atomic import write_text
    from lowrankgcn.cli.fitted import FittedTable
    from lowrankgcn.cli.tables import read_labelled_table, write_table

    truth = np.array(data.target_names, dtype=object)[data.target]
    chosen = np.random.default_rng(0).choice(len(truth), _LABELS[name], replace=False)
    labels = np.full(len(truth), "", dtype=object)
    labels[chosen] = truth[chosen]
    source, classified, report = (out / f"{name}{ending}" for ending in ENDINGS)
    with errors.exit_on_write_error(out):
        write_text(source, data.data.assign(**{target: labels}).to_csv(index=False))
    command = f"lowrankgcn classify {source} --target {target} --out {classified} --report {report}"
    command += f" --seed {classifiers[0].random_state}"
    table = read_labelled_table([source], target, {})
    correct, tested = {}, labels == ""
    for k, classifier in enumerate(classifiers):
        result = FittedTable.fit(table, classifier, k == 0, watch, shown)
        correct[type(classifier).__name__] = float(
            (classifier.transduction_ == truth)[tested].mean()
        )
        if k == 0:
            with progress("writing", shown=shown), errors.exit_on_write_error(out):
                write_table(result.predictions.added_to(table.table.frame), classified, table.table)
                result.write_report(report, command, watch.seconds)
    names, counts = np.unique(truth[tested].astype(str), return_counts=True)
    return {
        "rows": len(truth),
        "labels": len(chosen),
        "correct": correct,
        "largest_class": str(names[counts.argmax()]),
        "largest_share": float(counts.max() / counts.sum()),
        "command": command,
        "report": str(report),
    }
