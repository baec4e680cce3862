"""Pictures of rows: which are shown, and that no other file leaves the folder."""

from __future__ import annotations

import base64
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lowrankgcn.studio.pictures import LARGEST, find_pixels, read_picture
from tests.cli.commands import refused
from tests.studio.client import Client
from tests.studio.devtools import Browser
from tests.studio.page import Person
from tests.studio.running import Studio, digits, studio
from tests.studio.test_row import SIZES, select
from tests.support.browser import needs_browser

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of graphs

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>window.hurt = 1</script></svg>'


def png(shade: int, width: int = 40, height: int = 30) -> bytes:
    """Return a grey picture."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress((b"\0" + bytes([shade]) * width) * height)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A table with one column of paths and one of data: texts."""
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "table" / "img").mkdir(parents=True)
    (folder / "secret.png").write_bytes(png(1))
    place = folder / "table"
    for k in range(30):
        (place / "img" / f"{k} é.png").write_bytes(png(8 * k))
    (place / "drawing.png").write_bytes(SVG)
    (place / "link.png").symlink_to(place / "img" / "1 é.png")
    (place / "folder").symlink_to(folder, target_is_directory=True)
    os.mkfifo(place / "pipe.png")
    with open(place / "huge.png", "wb") as file:
        file.write(png(1))
        file.truncate(LARGEST + 1)
    names = [f"img/{k} é.png" for k in range(30)]
    text = f"data:image/png;base64,{base64.b64encode(png(77, 20, 20)).decode()}"
    svg = f"data:image/svg+xml;base64,{base64.b64encode(SVG).decode()}"
    names += ["absent.png", "drawing.png"]
    frame = pd.DataFrame({"file": names, "icon": [text] * 31 + [svg]})
    frame["size"] = np.arange(32.0) ** 1.5
    frame["weight"] = np.arange(32.0)[::-1] ** 0.5
    frame["shade"] = ["dark" if k < 15 else "bright" if k % 5 == 0 else None for k in range(32)]
    frame.to_csv(place / "gallery.csv", index=False)
    with studio(place / "gallery.csv", "shade") as running:
        yield running


def test_pictures_are_sent_as_such(gallery: Studio) -> None:
    client = Client(gallery)
    assert [one["show"] for one in client.get("table")["columns"]] == ["image"] * 2 + ["number"] * 2
    for path, expected in (("3/0", png(24)), ("3/1", png(77, 20, 20))):
        status, headers, body = client.send("GET", f"/api/picture/{path}")
        assert (status, headers["content-type"], body) == (200, "image/png", expected)
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
    for path, error in (
        ("30/0", "No such file"),
        ("31/0", "expected PNG"),
        ("31/1", "expected PNG"),
        ("3/2", "column of pictures"),
        ("3/9", "column"),
        ("99/0", "row"),
    ):
        status, _, body = client.send("GET", f"/api/picture/{path}")
        assert status == 400 and error in json.loads(body)["error"], (path, body)
    assert client.send("GET", "/api/picture/3/0", {})[0] == 403


def test_no_file_outside_the_folder(gallery: Studio, tmp_path: Path) -> None:
    place = tmp_path / "table"
    (place / "img").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png(1))
    (place / "img" / "a.png").write_bytes(png(2))
    (place / "link.png").symlink_to(tmp_path / "secret.png")
    (place / "out").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(place / "pipe.png")
    with open(place / "huge.png", "wb") as file:
        file.write(png(1))
        file.truncate(LARGEST + 1)
    assert read_picture("img/a.png", place) == (png(2), "image/png")
    for name in (
        "../secret.png",
        "img/../../secret.png",
        str(tmp_path / "secret.png"),
        "link.png",
        "out/secret.png",
        "..\\secret.png",
        "C:/secret.png",
        "img//a.png",
        "img/a.png\0",
        "img",
        "pipe.png",
        "huge.png",
        "https://example.org/a.png",
        f"data:image/png;base64,{'A' * (2 * LARGEST + 1)}",
        "data:image/png;base64,%%%",
        "",
        None,
        float("nan"),
        b"<svg>",
        {"bytes": None, "path": None},
        {"bytes": SVG, "path": "img/a.png"},
    ):
        with pytest.raises(ValueError, match="picture: expected"):
            read_picture(name, place)


@needs_browser
@pytest.mark.parametrize(("width", "height", "phone"), SIZES)
def test_pictures_are_seen(
    chromium: Browser, gallery: Studio, width: int, height: int, phone: bool
) -> None:
    page = Person(chromium, gallery, width=width, height=height).page
    page.resize(width, height, phone=phone)
    if phone:
        page.click_on("#tabs [data-tab=table]")
    select(page, 2)
    shown = "[...document.querySelectorAll('#row .pictures img')].map(i => [i.naturalWidth, i.alt])"
    page.wait(f"({shown}).every(([width]) => width > 0)")
    assert page.run(shown) == [[40, "file of row 3"], [20, "icon of row 3"]]
    page.wait("document.querySelector('.line img')?.naturalWidth === 40")
    seen = "document.querySelector('#row .near button img')?.naturalWidth"
    page.wait(f"{seen} === 40")
    if not phone:
        left, top, _, _ = page.box("#map")
        x, y = page.run("studio.place(2)")
        page.mouse("Moved", left + x, top + y)
        page.wait("document.querySelector('#tip img')?.naturalWidth === 40")
        map_, tip = (f"document.querySelector('{name}')" for name in ("#map", "#tip"))
        bottom = "getBoundingClientRect().bottom"
        page.wait(f"{tip}.{bottom} <= {map_}.{bottom}")
        page.key("End")
        page.wait("document.querySelector('.line.focus')?.dataset.row === '31'")
        page.wait("document.querySelector('#row .pictures').innerText.includes('expected PNG')")
    assert page.run("window.hurt === undefined")
    # What cannot be shown is refused by the server; nothing else is wrong.
    assert [error for error in page.errors if "400" not in error] == []


@needs_browser
def test_pixels_are_drawn_and_reasons_are_regions(chromium: Browser, tmp_path: Path) -> None:
    path, truth = digits(tmp_path, n_rows=200)
    frame = pd.read_csv(path, dtype={"digit": object})
    frame["digit"] = [name if k < 40 else None for k, name in enumerate(truth)]
    frame.to_csv(path, index=False)
    with studio(path, "digit") as running:
        page = Person(chromium, running).page
        note = "columns 'pixel_0_0' to 'pixel_7_7' are shown as pictures of 8 × 8 pixels"
        assert note in page.text("#row")
        select(page, 50)
        pixels = """(c => [...c.getContext('2d').getImageData(0, 0, 8, 8).data]
          .filter((_, i) => i % 4 === 0))(document.querySelector('#row .pictures canvas'))"""
        expected = 255 * frame.iloc[50, :64].to_numpy(float) / 16
        np.testing.assert_allclose(page.run(pixels), expected, atol=1)
        page.wait("document.querySelector('#row .stack .region')")
        marked = """(c => [...c.getContext('2d').getImageData(0, 0, 8, 8).data]
          .filter((_, i) => i % 4 === 3))(document.querySelector('#row .region'))"""
        assert max(page.run(marked)) > 150  # the region that decides
        drawn, region = page.box("#row .stack canvas"), page.box("#row .stack .region")
        assert region == pytest.approx(drawn, abs=1)  # on the picture
        assert page.run("document.querySelectorAll('.reasons li').length") == 0
        assert page.run("document.querySelectorAll('#row .near canvas').length") == 5
        assert page.run("document.querySelectorAll('#head [data-column]').length") == 0  # hidden
        assert page.run("document.querySelectorAll('.line .fixed canvas').length") > 3
        left, top, _, _ = page.box("#map")
        x, y = page.run("studio.place(50)")
        page.mouse("Moved", left + x, top + y)
        page.wait("document.querySelector('#tip canvas')")
        tip, picture = page.box("#tip"), page.box("#tip canvas")
        assert picture[2] == pytest.approx(picture[3], abs=1)  # below the text, not on it
        assert picture[1] > tip[1] + 10 and picture[3] < tip[3]
        assert page.errors == []


def test_only_pixels_are_taken_for_pixels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(300, 1))
    tables = {
        "answers": np.clip(np.round(3 + factor + rng.normal(size=(300, 36))), 1, 5),
        "spectrum": np.cumsum(rng.normal(size=(300, 64)), axis=1),
        "hours": np.maximum(0, np.sin(np.arange(144) / 12 * np.pi) + rng.normal(size=(300, 144))),
        "counts": rng.integers(0, 16, size=(300, 64)),
    }
    for name, values in tables.items():
        frame = pd.DataFrame(values, columns=[f"x{k}" for k in range(values.shape[1])])
        used = dict.fromkeys(frame.columns, "number")
        assert find_pixels(frame, used, {}, None) is None, name
        side = round(frame.shape[1] ** 0.5)
        found = find_pixels(frame, used, {}, f"{side}x{side}")
        assert found is not None and (found.height, len(found.columns)) == (side, side * side)
    path, _ = digits(tmp_path, n_rows=100)
    for size, message in (("9x9", "expected 81 numeric columns, got 64"), ("8", "HEIGHTxWIDTH")):
        error = refused(capsys, "studio", str(path), "--target", "digit", "--image", size)
        assert message in " ".join(error.split()), error
    colours = pd.DataFrame(rng.random((20, 12)), columns=[f"c{k}" for k in range(12)])
    found = find_pixels(colours, dict.fromkeys(colours.columns, "number"), {}, "2x2x3")
    assert found is not None and found.channels == 3
    assert find_pixels(colours, dict.fromkeys(colours.columns, "number"), {}, "none") is None


def test_pictures_of_parquet_files(tmp_path: Path) -> None:
    """Hugging Face writes {bytes, path}; others write bytes."""
    (tmp_path / "a.png").write_bytes(png(9))
    cells = [{"bytes": png(k), "path": f"{k}.png"} for k in range(28)]
    cells += [{"bytes": None, "path": "a.png"}, None]
    raw = [png(k) for k in range(30)]
    table = pa.table(
        {
            "image": cells,
            "raw": pa.array(raw, pa.binary()),
            "size": np.arange(30.0) ** 2,
            "kind": ["dark", "bright", None] * 10,
        }
    )
    path = tmp_path / "table.parquet"
    pq.write_table(table, path)
    with studio(path, "kind") as running:
        client = Client(running)
        shows = {one["name"]: one["show"] for one in client.get("table")["columns"]}
        assert shows == {"image": "image", "raw": "image", "size": "number"}
        for place, expected in (("3/0", png(3)), ("28/0", png(9)), ("3/1", png(3))):
            assert client.send("GET", f"/api/picture/{place}")[2] == expected
        assert client.get("row/3")["cells"][:2] == [["image", "3.png"], ["raw", "picture"]]
        assert client.get("row/29")["cells"][0] == ["image", None]
        assert client.get("rows?search=28.png")["total"] == 0
        client.settled()
        written = client.post("write", what="table")["path"]
    assert pq.read_table(written)["image"].to_pylist() == cells


def test_vectors_and_texts(tmp_path: Path) -> None:
    """A column of vectors and one of free text are features, and shown by their cells."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 5)) + 3 * (np.arange(40)[:, None] % 2)
    words = [["warm", "sunny", "dry"], ["cold", "rainy", "wet"]]
    notes = [f"{k:02d} " + " ".join(rng.permutation(words[k % 2] * 2)) for k in range(40)]
    embedding = pa.array(list(vectors), pa.list_(pa.float64(), 5))
    kinds = ["day", "night", *[None] * 38]
    path = tmp_path / "weather.parquet"
    pq.write_table(pa.table({"embedding": embedding, "note": notes, "kind": kinds}), path)
    with studio(path, "kind") as running:
        client = Client(running)
        client.settled()
        assert client.get("row/3")["cells"] == [["embedding", "5 numbers"], ["note", notes[3]]]
        for column in ("embedding", "note"):
            rows = client.get(f"rows?sort=column:{column}&descending=1&count=40")["rows"]
            assert sorted(row["row"] for row in rows) == list(range(40))
        assert [row["cells"][1] for row in rows] == sorted(notes, reverse=True)
        for reason in client.get("reasons/3")["reasons"]:
            assert reason["column"] in ("embedding", "note")
            assert reason["text"].startswith("like labelled rows ")
        near = client.get("reasons/3")["neighbours"]
        assert [one["cells"][1][1] for one in near] in ([notes[1], notes[0]], [notes[0], notes[1]])
