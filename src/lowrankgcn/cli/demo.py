"""``lowrankgcn demo``: classify built-in data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from lowrankgcn._format import duration, percent
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

_LABELS = {"cars": 100, "spiral": 50}
_POINTS = 2000  # of each of the five classes of the spiral
ENDINGS = (".csv", "-classified.csv", ".html")


def demo(
    context: typer.Context,
    out: options.ReportFolder = Path("demo-output"),
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Classify a built-in table and a built-in point cloud, and write a report of each.

    Writes **DIR/cars.csv** (1728 cars, 100 of them labelled) and **DIR/spiral.csv** (10,000 points
    in space, 50 of them labelled), classifies both as **lowrankgcn classify** does, and compares
    the predictions with the true classes.

    Examples
    --------
    lowrankgcn demo

    lowrankgcn demo --out demo-1 --seed 1
    """
    run = Run(quiet=quiet, as_json=as_json)
    with run.loading():
        import lowrankgcn.estimators
        from lowrankgcn import datasets
    errors.prepare_folder(out)
    spiral = datasets.load_spiral(_POINTS, random_state=seed, as_frame=True)
    results = {
        "cars": _classify(
            "cars", datasets.load_cars(as_frame=True), "acceptability", out, seed, run, context
        ),
        "spiral": _classify("spiral", spiral, "orb", out, seed, run, context),
    }
    left_out = [] if torch_installed() else [f"GCNClassifier is left out: {TORCH_MISSING}"]
    if as_json:
        document = {"seed": seed, "data": results, "notes": left_out, "seconds": run.total()}
        output.print_json(document)
        return
    for name, facts in results.items():
        run.console.print(f"[bold]{name}[/bold]: {facts['rows']} rows, {facts['labels']} labelled")
        correct = facts["correct"] | {f"always {facts['largest_class']}": facts["largest_share"]}
        shares = {method: f"{percent(share)} correct" for method, share in correct.items()}
        output.print_facts(run.console, shares, width=22)
        for line in ("report", "command"):
            output.print_line(run.console, f"{line:<22}{facts[line]}")
        run.console.print()
    for text in (*left_out, f"{duration(run.total())}, lowrankgcn {lowrankgcn.__version__}"):
        output.print_line(run.console, text)


def _classify(
    name: str, data: Any, target: str, out: Path, seed: int, run: Run, context: typer.Context
) -> dict[str, Any]:
    """Write a table with few labels, classify it, and count the correct predictions."""
    import numpy as np

    import lowrankgcn
    from lowrankgcn._atomic import write_text
    from lowrankgcn.cli.labelled_table import read_labelled_table
    from lowrankgcn.files import read_file, read_texts

    truth = np.array(data.target_names, dtype=object)[data.target]
    chosen = np.random.default_rng(0).choice(len(truth), _LABELS[name], replace=False)
    labels = np.full(len(truth), "", dtype=object)
    labels[chosen] = truth[chosen]
    source, classified, report = (out / f"{name}{ending}" for ending in ENDINGS)
    with errors.exit_on_write_error(out):
        write_text(source, data.data.assign(**{target: labels}).to_csv(index=False))
    words = [str(source), "--target", target, "--out", str(classified), "--report", str(report)]
    words += ["--seed", str(seed)]
    root: Any = context.find_root()
    command = root.command.commands["classify"]
    with run.progress(f"classifying {name}"):
        with command.make_context("classify", [*words, "--quiet"], parent=root) as inner:
            command.invoke(inner)
    predicted = {"SpectralGPClassifier": read_texts(read_file(classified).frame, "prediction")}
    if torch_installed():
        table = read_labelled_table([source], target, {})
        with run.computing(f"classifying {name} by a network"):
            network = lowrankgcn.GCNClassifier(random_state=seed).fit(table.features, table.labels)
        predicted["GCNClassifier"] = network.transduction_
    tested = labels == ""
    names, counts = np.unique(truth[tested].astype(str), return_counts=True)
    return {
        "rows": len(truth),
        "labels": len(chosen),
        "correct": {
            method: float(np.mean(classes[tested] == truth[tested]))
            for method, classes in predicted.items()
        },
        "largest_class": str(names[counts.argmax()]),
        "largest_share": float(counts.max() / counts.sum()),
        "command": shlex.join(["lowrankgcn", "classify", *words]),
        "report": str(report),
    }
