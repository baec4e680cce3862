"""Build the distribution, inspect it, and use it in new environments with and without each extra.

``python .ci/wheel_check.py [--tag TAG] [EXTRA ...]`` needs the packages of .ci/requirements.txt;
`make wheel-check` installs them. Without arguments, all extras for users are tried.
"""

from __future__ import annotations

import argparse
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
DIST = ROOT / "dist"
LARGEST = 2_000_000  # bytes of the wheel
# The commands must work with the installed package alone, in a terminal of ordinary width.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
ENVIRONMENT |= {"COLUMNS": "200", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
# Arguments of lowrankgcn that use each extra; tables named out are checked.
CLASSIFY = "classify table.csv -t kind"
USES = {
    "": [
        f"{CLASSIFY} --out out.csv --report page.html --save model",
        "predict model whole.csv --out out_predict.csv",
        "explain model whole.csv --row 1",
        "suggest table.csv -t kind --out more.csv",
    ],
    "nn": [f"{CLASSIFY} --method gcn --out out.csv"],
    "excel": [f"{CLASSIFY} --out book.xlsx", "classify book.xlsx -t kind --out out.csv"],
    "distributed": ["classify parts -t kind --out out.parquet --workers 2"],
    "studio": [],  # see use_studio
    "peers": [
        "compare whole.csv -t kind --methods gp,gcn,catboost,hypergraph-conv,poisson --splits 1 "
        "--labels-per-class 5"
    ],
}
EXTRAS = [extra for extra in USES if extra]
# Arguments that are refused without an extra.
REFUSED = {
    "nn": f"{CLASSIFY} --method gcn",
    "excel": "classify empty.xlsx -t kind",
    "distributed": "classify parts -t kind --out out.parquet",
    "studio": "studio table.csv -t kind --no-browser",
    "peers": "compare whole.csv -t kind --methods gp,catboost",
}
# Programs for the new environments. Thirty rows of "table" are labelled, all of "whole".
TABLES = """
from pathlib import Path
import pandas as pd
frame = pd.DataFrame({"length": [3 * (i % 3) + i / 90 for i in range(90)]})
frame["colour"] = ["red", "green", "blue"] * 30
frame["kind"] = frame.colour + " kind"
frame.to_csv("whole.csv", index=False)
frame.loc[30:, "kind"] = None
frame.to_csv("table.csv", index=False)
Path("parts").mkdir()
frame.to_parquet("parts/1.parquet")
Path("empty.xlsx").write_bytes(b"PK")
"""
ACCURACY = """
import sys
import pandas as pd
for path in sys.argv[1:]:
    found = (pd.read_csv if path.endswith(".csv") else pd.read_parquet)(path).prediction
    right = (found.to_numpy() == pd.read_csv("whole.csv").kind).sum()
    assert len(found) == 90 and right >= 85, f"{path}: {right} of {len(found)} rows are correct"
"""


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


def use_studio(command: Path, folder: Path) -> None:
    """Start the server; ask for the page with and without the token."""
    with subprocess.Popen(
        [command, *REFUSED["studio"].split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env=ENVIRONMENT,
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


def try_extra(wheel: Path, extra: str) -> None:
    """Install the wheel into a new environment and use it."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="wheel-check-") as name:
        folder = Path(name).resolve()
        here = partial(run, folder=folder)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        command, pip = python.with_name("lowrankgcn"), (python, "-m", "pip")
        options = ("--quiet", "--no-compile", "-c", ROOT / "constraints.txt")
        here(*pip, "install", *options, f"{wheel}[{extra}]" if extra else wheel)
        here(*pip, "check")
        installed = time.perf_counter()
        here(python, "-c", TABLES)
        told = [here(command, *text.split()) for text in USES[extra]]
        here(python, "-c", ACCURACY, *re.findall(r"--out (out\S*)", " ".join(USES[extra])))
        if extra == "studio":
            use_studio(command, folder)
        elif extra == "peers":
            peers = ("CatBoost", "Poisson", "HypergraphConv")
            expect(all(name in told[0] for name in peers), told[0])
        elif not extra:
            expect("</html>" in (folder / "page.html").read_text(), "no report")
            refused = {one: here(command, *REFUSED[one].split(), code=2) for one in REFUSED}
            for one, answer in refused.items():
                expect(f"pip install 'lowrankgcn[{one}]'" in answer, f"without {one}:\n{answer}")
    seconds = f"{installed - begin:.0f} s, used in {time.perf_counter() - installed:.0f} s"
    print(f"{f'[{extra}]' if extra else 'no extra'}: installed in {seconds}", flush=True)


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"default: {' '.join(EXTRAS)}")
    parser.add_argument("--tag", help="expected to be v and the version")
    given = parser.parse_args()
    expect(set(given.extras) <= set(EXTRAS), f"extras are {' '.join(EXTRAS)}")
    version = check_versions(given.tag)
    wheel = check_wheel(version)
    with ThreadPoolExecutor(max_workers=2) as pool:
        tried = [pool.submit(try_extra, wheel, name) for name in ("", *(given.extras or EXTRAS))]
        try:
            for done in as_completed(tried):
                done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # a failure ends the others that wait
    print(f"lowrankgcn {version}: the wheel works")


if __name__ == "__main__":
    main()
