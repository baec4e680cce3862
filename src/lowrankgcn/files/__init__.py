"""Tables in files.

``reading`` and ``writing`` keep every cell as spelled in the file; ``cells`` detects whether a
column holds numbers, dates or categories; ``columns`` chooses the features.
"""

from lowrankgcn.files.columns import Columns, choose_columns, read_texts
from lowrankgcn.files.reading import TableFile, read_file
from lowrankgcn.files.writing import write_file

__all__ = ["Columns", "TableFile", "choose_columns", "read_file", "read_texts", "write_file"]
