"""Tables in files.

``reading`` and ``writing`` keep every cell as spelled in the file; ``delimited`` (text) and
``records`` (JSON and Excel) parse the formats. ``column_choice`` chooses the features, and
``row_matching`` finds rows again after a table was edited.
"""

from lowrankgcn.files.column_choice import Columns, choose_columns, read_texts
from lowrankgcn.files.reading import TableFile, read_file
from lowrankgcn.files.writing import output_format, write_file

__all__ = [
    "Columns",
    "TableFile",
    "choose_columns",
    "output_format",
    "read_file",
    "read_texts",
    "write_file",
]
