"""``lowrankgcn predict``."""

from __future__ import annotations

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import (
    AsJson,
    Encoding,
    ModelFile,
    Out,
    Probabilities,
    Quiet,
    TableArgument,
)

__all__ = ["predict"]

_EXAMPLES = """Examples:

lowrankgcn predict cars.model more-cars.csv --out classified.csv

lowrankgcn predict cars.model - < more-cars.csv
"""


@app.command(epilog=_EXAMPLES)
def predict(
    model: ModelFile,
    table: TableArgument,
    out: Out = None,
    probabilities: Probabilities = False,
    encoding: Encoding = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Classify all rows of another table with a model that `classify --save` wrote.

    Columns are found by name, in any order; columns that the model does not know are passed over.
    Values that it has never seen are counted and told. The table comes back with the columns
    **prediction** and **probability**, on standard output unless **--out** or **--json** is given.
    """
    from lowrankgcn.cli.predict import run

    run(
        model,
        table,
        out=out,
        probabilities=probabilities,
        encoding=encoding,
        as_json=as_json,
        quiet=quiet,
    )
