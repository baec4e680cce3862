"""Build the distribution, inspect it, and use it in new environments with and without each extra.

``python .ci/wheel_check.py [--tag TAG] [EXTRA ...]`` needs the packages of .ci/requirements.txt;
`make wheel-check` installs them. Without arguments, all extras for users are tried.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
DIST = ROOT / "dist"
LARGEST = 2_000_000  # bytes of the wheel
# The commands must work with the installed package alone, in a terminal of ordinary width.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
ENVIRONMENT |= {"COLUMNS": "200", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def expect(truth: object, message: str) -> None:
    """End with a message if a check fails."""
    if not truth:
        raise SystemExit(f"wheel-check: {message}")


def run(*command: str | Path, code: int = 0, folder: Path = ROOT) -> str:
    """Run a command, and return its output if it ends with the expected exit code."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, cwd=folder, env=ENVIRONMENT
    )
    text = done.stdout + done.stderr
    expect(done.returncode == code, f"{' '.join(map(str, command))}: {done.returncode}\n{text}")
    return text


def check_versions(tag: str | None) -> str:
    """Compare the version and date of the package, CHANGELOG.md, CITATION.cff and the tag."""
    package = (SOURCE / "lowrankgcn/__init__.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.+)"$', package, re.MULTILINE)
    newest = re.search(r"^## \[(.+?)\](?: - (.+))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    citation = (ROOT / "CITATION.cff").read_text()
    cited = re.findall(r"^(?:version|date-released): (.+)$", citation, re.MULTILINE)
    expect(newest and newest[1] == version, f"CHANGELOG.md does not begin with [{version}]")
    expect(newest and list(newest.groups()) == cited, f"CITATION.cff has {cited}, not {newest}")
    expect(tag in (None, f"v{version}"), f"the tag is {tag}, the version {version}")
    run(Path(sys.executable).with_name("cffconvert"), "--validate")
    return version


def contents(wheel: Path) -> dict[str, int]:
    """Return the checksums of all files by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist()}


def check_wheel(version: str) -> Path:
    """Build sdist and wheel; check names, size, contents and description."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)  # the wheel is built from the sdist
    wheel, sdist = DIST / f"lowrankgcn-{version}-py3-none-any.whl", f"lowrankgcn-{version}.tar.gz"
    found = sorted(file.name for file in DIST.iterdir())
    expect(found == sorted([wheel.name, sdist]), f"dist contains {found}")
    run(sys.executable, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder)
        same = contents(Path(folder) / wheel.name) == contents(wheel)
        expect(same, "the sdist gives another wheel than the sources")
    size = wheel.stat().st_size
    expect(size <= LARGEST, f"the wheel has {size} bytes, more than {LARGEST}")
    packed = {name for name in contents(wheel) if ".dist-info/" not in name}
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "src").split()
    wanted = {name.removeprefix("src/") for name in tracked if (ROOT / name).is_file()}
    expect(packed == wanted, f"the wheel differs from src: {sorted(packed ^ wanted)}")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"lowrankgcn-{version}.dist-info/METADATA").decode()
    broken = re.findall(r"\]\((?!https?:)[\w./#-]+\)", metadata.partition("\n\n")[2])
    expect(not broken, f"links that a package index cannot follow: {broken}")
    print(f"dist/{wheel.name}: {size / 1e6:.2f} MB, {len(packed)} files, {len(tracked)} in src")
    return wheel


class Environment:
    """A virtual environment with the wheel, a folder with a table, and the command."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.python = folder / "venv" / "bin" / "python"
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        pip = (self.python, "-m", "pip")
        options = ("--quiet", "--no-compile", "-c", ROOT / "constraints.txt")
        run(*pip, "install", *options, wanted, folder=folder)
        run(*pip, "check", folder=folder)
        with (folder / "table.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["length", "colour", "kind"])
            for i in range(90):
                colour = ("red", "green", "blue")[i % 3]
                rows.writerow([3 * (i % 3) + i / 90, colour, f"{colour} kind"])
        # Labels of thirty rows; "whole" has all of them.
        shutil.copy(folder / "table.csv", folder / "whole.csv")
        lines = (folder / "whole.csv").read_text().splitlines()
        lines[31:] = [line.rpartition(",")[0] + "," for line in lines[31:]]
        (folder / "table.csv").write_text("\n".join(lines) + "\n")
        (folder / "parts").mkdir()
        code = "import pandas as p; p.read_csv('table.csv').to_parquet('parts/1.parquet')"
        run(self.python, "-c", code, folder=folder)

    def command(self, text: str, *, code: int = 0) -> str:
        """Run ``lowrankgcn`` with the arguments of a text."""
        return run(
            self.python.with_name("lowrankgcn"), *text.split(), code=code, folder=self.folder
        )

    def written(self, name: str) -> None:
        """Expect 90 classified rows, nearly all correct, in a CSV file."""
        with (self.folder / "whole.csv").open() as file:
            truth = [row["kind"] for row in csv.DictReader(file)]
        with (self.folder / name).open() as file:
            found = [row["prediction"] for row in csv.DictReader(file)]
        right = sum(a == b for a, b in zip(truth, found, strict=True))
        expect(right >= 85, f"{name}: {right} of 90 rows are correct")


def use_core(one: Environment) -> None:
    """Classify, predict, explain and suggest without extras."""
    one.command("classify table.csv -t kind --out out.csv --report page.html --save model")
    one.written("out.csv")
    expect("</html>" in (one.folder / "page.html").read_text(), "no report")
    one.command("predict model whole.csv --out new.csv")
    one.written("new.csv")
    one.command("explain model whole.csv --row 1")
    one.command("suggest table.csv -t kind --out more.csv")


def use_nn(one: Environment) -> None:
    """Train a network."""
    one.command("classify table.csv -t kind --method gcn --out out.csv")
    one.written("out.csv")


def use_excel(one: Environment) -> None:
    """Write a workbook and read it again."""
    one.command("classify table.csv -t kind --out out.xlsx")
    one.command("classify out.xlsx -t kind --out out.csv")
    one.written("out.csv")


def use_distributed(one: Environment) -> None:
    """Classify a folder with Dask."""
    one.command("classify parts -t kind --out new --workers 2")
    code = "import pandas as p; p.read_parquet('new').to_csv('out.csv')"
    run(one.python, "-c", code, folder=one.folder)
    one.written("out.csv")


def use_studio(one: Environment) -> None:
    """Start the server; ask for the page with and without the token."""
    command = [str(one.python.with_name("lowrankgcn")), "studio", "table.csv", "-t", "kind"]
    with subprocess.Popen(
        [*command, "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=one.folder,
        env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"},
    ) as server:
        try:
            found = None
            while found is None and server.stdout and (line := server.stdout.readline()):
                found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", line)
            expect(found, "the studio printed no address")
            address = found[0] if found else ""
            with urllib.request.urlopen(address, timeout=30) as answer:
                expect(b"</html>" in answer.read(), "the studio served no page")
            try:
                urllib.request.urlopen(address.partition("?")[0], timeout=30)
            except urllib.error.HTTPError as error:
                expect(error.code == 403, f"without a token: {error}")
            else:
                expect(False, "the studio answered a request without a token")
        finally:
            server.send_signal(signal.SIGINT)


DEBIAN = """
from lowrankgcn.datasets.mushrooms import MUSHROOMS, DataUnavailableError, mushrooms_from_debian
try:
    MUSHROOMS.check(mushrooms_from_debian())
except DataUnavailableError as error:
    print(error)
"""


def use_datasets(one: Environment) -> None:
    """Read a dataset of R. Machines without apt-get or the package report that instead."""
    text = run(one.python, "-c", "import rdata\n" + DEBIAN, folder=one.folder)
    expect("lowrankgcn[" not in text, text)


def use_peers(one: Environment) -> None:
    """Compare with the methods of other packages."""
    methods = "gp,gcn,catboost,hypergraph-conv,poisson"
    text = one.command(
        f"compare whole.csv -t kind --methods {methods} --splits 1 --labels-per-class 5"
    )
    expect("CatBoost" in text and "Poisson" in text and "HypergraphConv" in text, text)


def check_refusals(one: Environment) -> None:
    """Without extras, expect exit code 2 and the name of the extra to install."""
    one.command("classify table.csv -t kind --out out.csv")
    (one.folder / "book.xlsx").write_bytes(b"PK")
    for extra, text in {
        "nn": "classify table.csv -t kind --method gcn",
        "excel": "classify book.xlsx -t kind",
        "distributed": "classify parts -t kind --out new",
        "studio": "studio table.csv -t kind --no-browser",
        "peers": "compare whole.csv -t kind --methods gp,catboost",
    }.items():
        answer = one.command(text, code=2)
        expect(f"pip install 'lowrankgcn[{extra}]'" in answer, f"{text}:\n{answer}")
    answer = run(one.python, "-c", DEBIAN, folder=one.folder)
    expect("pip install 'lowrankgcn[datasets]'" in answer, answer)


USES: dict[str, Callable[[Environment], None]] = {
    "nn": use_nn,
    "excel": use_excel,
    "distributed": use_distributed,
    "studio": use_studio,
    "datasets": use_datasets,
    "peers": use_peers,
}


def try_extra(wheel: Path, extra: str) -> None:
    """Install the wheel into a new environment and use it."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="wheel-check-") as folder:
        one = Environment(Path(folder).resolve(), wheel, extra)
        installed = time.perf_counter()
        if extra:
            USES[extra](one)
        else:
            use_core(one)
            check_refusals(one)
    seconds = (
        f"installed in {installed - begin:.0f} s, used in {time.perf_counter() - installed:.0f} s"
    )
    print(f"{f'[{extra}]' if extra else 'no extra'}: {seconds}", flush=True)


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"default: {' '.join(USES)}")
    parser.add_argument("--tag", help="expected to be v and the version")
    given = parser.parse_args()
    expect(set(given.extras) <= set(USES), f"extras are {' '.join(USES)}")
    version = check_versions(given.tag)
    wheel = check_wheel(version)
    with ThreadPoolExecutor(max_workers=2) as pool:
        tried = [pool.submit(try_extra, wheel, name) for name in ("", *(given.extras or USES))]
        try:
            for done in as_completed(tried):
                done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # a failure ends the others that wait
    print(f"lowrankgcn {version}: the wheel works")


if __name__ == "__main__":
    main()
