"""Tables: cells read once, fitted columns, hyperedges and features."""

from lowrankgcn.tables.cells import Cells, column_kind
from lowrankgcn.tables.encoder import TableEncoder
from lowrankgcn.tables.fitted_table import FittedTable
from lowrankgcn.tables.table import Table

__all__ = ["Cells", "FittedTable", "Table", "TableEncoder", "column_kind"]
