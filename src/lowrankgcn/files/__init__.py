"""Tables in files.

``reading`` and ``writing`` keep every cell as spelled in the file, and ``passes`` reads large files
block by block. ``header`` finds column names; ``delimited`` (text) and ``records`` (JSON and Excel)
parse the formats, and ``row_matching`` finds rows again after a table was edited.
``tables.column_choice`` chooses the features.
"""

from lowrankgcn.files.reading import TableFile, read_file
from lowrankgcn.files.writing import output_format, write_file
from lowrankgcn.tables.column_choice import Columns, choose_columns
from lowrankgcn.tables.label_texts import read_texts

__all__ = [
    "Columns",
    "TableFile",
    "choose_columns",
    "output_format",
    "read_file",
    "read_texts",
    "write_file",
]
