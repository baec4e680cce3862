"""``lowrankgcn demo``: classify built-in data."""

from __future__ import annotations

import shlex
from typing import Any

import lowrankgcn
from lowrankgcn._format import duration, percent
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import Arguments, command
from lowrankgcn.cli.terminal import Run
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

_LABELS = {"cars": 100, "spiral": 50}
_POINTS = 2000  # of each of the five classes of the spiral
ENDINGS = (".csv", "-classified.csv", ".html")


@command("context reports seed as_json quiet")
def demo(args: Arguments) -> None:
    """Classify a built-in table and a built-in point cloud, and write a report of each.

    Writes **DIR/cars.csv** (1728 cars, 100 of them labelled) and **DIR/spiral.csv** (10,000 points
    in space, 50 of them labelled), classifies both as **lowrankgcn classify** does, and compares
    the predictions with the true classes.

    Examples
    --------
    lowrankgcn demo

    lowrankgcn demo --out demo-1 --seed 1
    """
    run = Run(quiet=args.quiet, as_json=args.as_json)
    with run.step("loading"):
        import lowrankgcn.estimators
        from lowrankgcn import datasets
    terminal.prepare_folder(args.out)
    cars = datasets.load_cars(as_frame=True)
    spiral = datasets.load_spiral(_POINTS, random_state=args.seed, as_frame=True)
    tables = (("cars", cars, "acceptability"), ("spiral", spiral, "orb"))
    results = {table[0]: _classify(*table, args, run) for table in tables}
    left_out = [] if torch_installed() else [f"GCNClassifier is left out: {TORCH_MISSING}"]
    if args.as_json:
        more = {"notes": left_out, "seconds": run.total()}
        run.print_json({"seed": args.seed, "data": results, **more})
        return
    for name, facts in results.items():
        run.console.print(f"[bold]{name}[/bold]: {facts['rows']} rows, {facts['labels']} labelled")
        correct = facts["correct"] | {f"always {facts['largest_class']}": facts["largest_share"]}
        shares = {method: f"{percent(share)} correct" for method, share in correct.items()}
        run.print_facts(shares, width=22)
        for line in ("report", "command"):
            run.print_line(f"{line:<22}{facts[line]}")
        run.console.print()
    for text in (*left_out, f"{duration(run.total())}, lowrankgcn {lowrankgcn.__version__}"):
        run.print_line(text)


def _classify(name: str, data: Any, target: str, args: Arguments, run: Run) -> dict[str, Any]:
    """Write a table with few labels, classify it, and count the correct predictions."""
    import numpy as np

    from lowrankgcn.cli.labelled_table import read_labelled_table
    from lowrankgcn.files import read_file, read_texts

    truth = np.array(data.target_names, dtype=object)[data.target]
    chosen = np.random.default_rng(0).choice(len(truth), _LABELS[name], replace=False)
    hidden = ~np.isin(np.arange(len(truth)), chosen)
    labels = np.where(hidden, "", truth)
    source, classified, report = (args.out / f"{name}{ending}" for ending in ENDINGS)
    terminal.write_output(source, data.data.assign(**{target: labels}).to_csv(index=False), "--out")
    words = [str(source), "--target", target, "--out", str(classified), "--report", str(report)]
    words += ["--seed", str(args.seed)]
    root: Any = args.context.find_root()
    classify = root.command.commands["classify"]
    with run.progress(f"classifying {name}"):
        with classify.make_context("classify", [*words, "--quiet"], parent=root) as inner:
            classify.invoke(inner)
    predicted = {"SpectralGPClassifier": read_texts(read_file(classified).frame, "prediction")}
    if torch_installed():
        table = read_labelled_table({"table": [source], "target": target})
        network = lowrankgcn.GCNClassifier(random_state=args.seed)
        with run.computing(f"classifying {name} by a network"):
            predicted["GCNClassifier"] = network.fit(table.features, table.labels).transduction_
    right = truth[hidden]
    names, counts = np.unique(right.astype(str), return_counts=True)
    return {
        "rows": len(truth),
        "labels": len(chosen),
        "correct": {key: float(np.mean(some[hidden] == right)) for key, some in predicted.items()},
        "largest_class": str(names[counts.argmax()]),
        "largest_share": float(counts.max() / counts.sum()),
        "command": shlex.join(["lowrankgcn", "classify", *words]),
        "report": str(report),
    }
