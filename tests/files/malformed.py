"""Malformed files, and parts of the expected messages."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

GOOD = "size,colour,kind\n1.5,red,a\n2.5,blue,b\n3.5,red,\n"


def parquet(columns: dict[str, Any]) -> bytes:
    """A Parquet file in memory."""
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _zipped(name: str = "xl/workbook.xml") -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr(name, "<workbook/>")
    return sink.getvalue()


_WHOLE = parquet({"size": [1.5, 2.5, 3.5], "kind": ["a", "b", None]})

#: Name of the file, its bytes, and a part of the message: not readable at all.
UNREADABLE: dict[str, tuple[str, bytes, str]] = {
    "nothing": ("t.csv", b"", "empty"),
    "blanks only": ("t.csv", b" \n\r\n \n", "empty"),
    "byte order mark only": ("t.csv", b"\xef\xbb\xbf", "empty"),
    "header only": ("t.csv", b"size,kind\n", "at least one row"),
    "header without newline": ("t.csv", b"size,kind", "at least one row"),
    "row too short": ("t.csv", b"size,kind\n1.5,a\n2.5\n", "line 3: expected 2 cells"),
    "row too long": ("t.csv", b"size,kind\n1.5,a\n2.5,b,c\n", "line 3: expected 2 cells"),
    "too long after quoted newline": (
        "t.csv",
        b'size,kind\n1.5,"a\nb"\n\n2.5,b,c\n',
        "line 5: expected 2 cells",
    ),
    "ragged TSV": ("t.tsv", b"size\tkind\n1.5\ta\n2.5\n", "line 3: expected 2 cells"),
    "quote never closed": ("t.csv", b'size,kind\n1.5,"a\n2.5,b\n', "line 2: expected cells"),
    "quote never closed at the end": ("t.csv", b'size,kind\n1.5,"a', "unclosed quote"),
    "two columns without a name": ("t.csv", b"size,,\n1,2,a\n", "a name for every column"),
    "mixed encodings": (
        "t.csv",
        "size,kind\n1.5,grün\n".encode() + "2.5,grün\n".encode("latin-1"),
        "line 3: expected text in UTF-8, got the byte 0xfc",
    ),
    "a byte without a meaning": ("t.csv", b"size,kind\n1.5,gr\x81n\n", "line 2: expected text"),
    "cut within a character": ("t.csv", "size,kind\n1.5,ü".encode()[:-1], "line 2"),
    "NUL byte": ("t.csv", b"size,kind\n1.5,a\n2\x00.5,b\n", "line 3: expected text, got a NUL"),
    "UTF-16 without a mark": ("t.csv", "size,kind\n1,a\n".encode("utf-16-le"), "NUL"),
    "half a UTF-16 character": ("t.csv", "size,kind\n1,a\n".encode("utf-16")[:-1], "UTF-16"),
    "all bytes": ("t.csv", bytes(range(256)), "line 1"),
    "gzip cut short": ("t.csv.gz", gzip.compress(GOOD.encode())[:-9], "incomplete gzip data"),
    "gzip of nothing": ("t.csv.gz", gzip.compress(b""), "empty"),
    "bzip2 cut short": ("t.csv", bz2.compress(GOOD.encode())[:-9], "incomplete bz2 data"),
    "xz cut short": ("t.csv.xz", lzma.compress(GOOD.encode())[:-9], "incomplete xz data"),
    "Zstandard cut short": (
        "t.csv.zst",
        pa.compress(GOOD.encode(), "zstd", asbytes=True)[:-9],
        "incomplete zstd data",
    ),
    "a broken workbook": ("t.xlsx", _zipped(), "not a valid Excel workbook"),
    "text as a workbook": ("t.xlsx", GOOD.encode(), "not a valid Excel workbook"),
    "archive": ("t.zip", _zipped("t.csv"), "another zip archive; unpack it"),
    "old workbook": (
        "t.xls",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512),
        "old Excel workbook (.xls); save it as .xlsx",
    ),
    "Arrow": ("t.feather", b"ARROW1\0\0" + bytes(64), "not a valid Arrow file"),
    "text as Arrow": ("t.arrow", GOOD.encode(), "not a valid Arrow file"),
    "old Feather": ("t.feather", b"FEA1" + bytes(64), "an old Feather file"),
    "JSON lines cut short": ("t.jsonl", b'{"a": 1}\n{"a": 2', "line 2: not valid JSON"),
    "JSON with an object in a cell": (
        "t.jsonl",
        b'{"a": 1}\n{"a": {"b": 2}}',
        "line 2: column 'a': expected one value per cell",
    ),
    "JSON with a list in a cell": (
        "t.json",
        b'[{"a": ["b"]}]',
        "record 1: column 'a': expected one",
    ),
    "JSON without records": ("t.json", b"[1, 2]", "record 1: expected an object"),
    "an empty array": ("t.json", b"[]", "at least one row"),
    "empty records": ("t.jsonl", b"{}\n{}\n", "at least one row"),
    "one JSON object over several lines": ("t.json", b'{\n"a": [1]\n}', "line 1: not valid JSON"),
    "deep JSON": ("t.json", b"[" * 100_000, "the array"),
    "keys that all differ": (
        "t.jsonl",
        b"".join(b'{"k%d": 1}\n' % i for i in range(20_000)),
        "expected records with the same keys, got 20000",
    ),
    "database": ("t.db", b"SQLite format 3\0" + bytes(84), "database"),
    "PDF": ("t.csv", b"%PDF-1.7\n1 0 obj\n", "PDF"),
    "text as Parquet": ("t.parquet", GOOD.encode(), "Parquet"),
    "Parquet cut short": ("t.parquet", _WHOLE[:-9], "Parquet"),
    "Parquet without an end": ("t.parquet", _WHOLE[:60], "Parquet"),
    "Parquet with a torn middle": (
        "t.parquet",
        _WHOLE[:-100] + b"\xff" * 60 + _WHOLE[-40:],
        "Parquet",
    ),
    "Parquet magic only": ("t.csv", b"PAR1", "Parquet"),
    "Parquet without rows": ("t.parquet", parquet({"size": pa.array([], pa.int64())}), "row"),
    "Parquet without columns": ("t.parquet", parquet({}), "row"),
    "lists in cells": ("t.parquet", parquet({"size": [["a"], []]}), "'size': expected one value"),
    "records in cells": ("t.parquet", parquet({"size": [{"x": 1}]}), "'size': expected one value"),
}

#: Tables, but none that `classify --target kind` can be trained on.
UNUSABLE: dict[str, tuple[str, bytes, str]] = {
    "target missing": ("t.csv", b"size,Kind\n1,a\n", "did you mean 'Kind'"),
    "a page": ("t.csv", b"<html>\n<body>hello</body>\n</html>\n", "'kind'"),
    "records of JSON": ("t.csv", b'{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n', "'kind'"),
    "prose": ("t.txt", b"Dear all\nplease find enclosed\n", "'kind'"),
    "no label": ("t.csv", b"size,kind\n1.5,\n2.5,\n", "got empty cells only"),
    "blank labels only": ("t.csv", b"size,kind\n1.5, \n2.5,\n", "got empty cells only"),
    "one class": ("t.csv", b"size,kind\n1.5,a\n2.5,\n3.5,a\n", "got 'a' only"),
    "all labelled": ("t.csv", b"size,kind\n1.5,a\n2.5,b\n3.5,a\n", "a label in every row"),
    "measurements": (
        "t.csv",
        b"size,kind\n" + b"".join(b"%d.5,%d.25\n" % (i, i) for i in range(40)) + b"1.5,\n",
        "expected classes, got 40 different numbers",
    ),
    "target alone": ("t.csv", b"kind\na\nb\n", "feature column besides 'kind', got none\n"),
    "identifiers alone": ("t.csv", b"id,kind\nx1,a\nx2,b\nx3,\n", "'id' is left out"),
    "constants alone": ("t.csv", b"unit,kind\nm,a\nm,b\nm,\n", "'unit' is left out"),
    "empty columns alone": ("t.csv", b"size,kind\n,a\n,b\n,\n", "'size' is left out"),
    "infinite number": ("t.csv", b"size,kind\n1.5,a\n1e999,b\n2.5,\n", "column 'size'"),
    "infinite number in Parquet": (
        "t.parquet",
        parquet({"size": [1.5, float("inf"), 2.5], "kind": ["a", "b", None]}),
        "column 'size'",
    ),
    "bytes in Parquet": (
        "t.parquet",
        parquet({"size": [b"\xff", b"\xfe", b"\xfd"], "kind": ["a", "b", None]}),
        "'size' is left out",
    ),
}
