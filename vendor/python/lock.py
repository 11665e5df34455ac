#!/usr/bin/env python3
"""Pins, with the hashes of their wheels, the optional packages of scripts and what tests need.

    lock.py          writes stdlib/python/extras/*.txt and vendor/python/requirements.txt anew
    lock.py --check  looks in the package index whether each platform and Python has its wheels

One file holds every platform and every Python: uv resolves for all of them at once and writes markers
where versions differ. What is written has been checked the same way. `make locks` and `make
locks-check` bring uv and start this.
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOCKS = ROOT / "stdlib" / "python" / "extras"
UV = HERE / "venv" / "bin" / "uv"

ANALYSIS = ["pandas", "numpy", "matplotlib", "openpyxl", "python-docx", "reportlab", "plotly", "jinja2"]
EXTRAS = {"analysis": ANALYSIS, "science": [*ANALYSIS, "scipy", "statsmodels", "scikit-learn"]}

PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
PLATFORMS = {
    "linux-x64": "x86_64-manylinux_2_28", "linux-arm64": "aarch64-manylinux_2_28",
    "musl-x64": "x86_64-unknown-linux-musl", "musl-arm64": "aarch64-unknown-linux-musl",
    "macos-x64": "x86_64-apple-darwin", "macos-arm64": "aarch64-apple-darwin",
    "windows-x64": "x86_64-pc-windows-msvc", "windows-arm64": "aarch64-pc-windows-msvc",
}
# No wheels exist: extra, platform, Pythons ("" is every one).
GAPS = [
    ("analysis", "windows-arm64", "3.10"), ("analysis", "musl-arm64", ""),
    ("science", "windows-arm64", "3.10 3.11 3.12"), ("science", "musl-x64", ""), ("science", "musl-arm64", ""),
]


def uv(*arguments):
    return subprocess.run([UV, *map(str, arguments)], capture_output=True, encoding="utf-8", check=False)


def gap(extra, platform, python):
    return any((extra, platform) == known[:2] and (not known[2] or python in known[2].split()) for known in GAPS)


def resolve(names, constraints=None):
    """The text of a lock file for those packages, in the versions of `constraints` where it has them."""
    with tempfile.TemporaryDirectory() as folder:
        wanted, out = pathlib.Path(folder, "in.txt"), pathlib.Path(folder, "out.txt")
        wanted.write_text("\n".join(names) + "\n", encoding="utf-8")
        done = uv("pip", "compile", "--universal", "--python-version", PYTHONS[0], "--generate-hashes",
                  "--only-binary", ":all:", "--no-header", "--no-annotate", "--output-file", out,
                  *(["--constraints", constraints] if constraints else []), wanted)
        if done.returncode:
            sys.exit(done.stderr)
        return out.read_text(encoding="utf-8")


def check(extra, lock):
    """Resolves the lock file for every platform and Python; the problems, as lines."""
    def one(target):
        platform, python = target
        with tempfile.TemporaryDirectory() as folder:
            done = uv("pip", "install", "--dry-run", "--target", folder, "--python-platform", PLATFORMS[platform],
                      "--python-version", python, "--only-binary", ":all:", "--require-hashes", "-r", lock)
        if gap(extra, platform, python):
            return [] if done.returncode else [f"{extra}, {platform}, Python {python}: no gap any more"]
        return [f"{extra}, {platform}, Python {python}: {done.stderr.strip()}"] if done.returncode else []

    targets = [(platform, python) for platform in PLATFORMS for python in PYTHONS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return [line for lines in pool.map(one, targets) for line in lines]


def download_bytes(lock):
    """What installing would download where most people are: Linux x64, a recent Python."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
                               "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64", "--platform",
                               "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64", "--python-version", "3.13",
                               "--dest", folder, "--requirement", lock], check=False)
        if done.returncode:
            sys.exit(f"{lock}: the download failed")
        return sum(wheel.stat().st_size for wheel in pathlib.Path(folder).iterdir())


def write(extra, names, pinned):
    lock = LOCKS / f"{extra}.txt"
    made = "# Made by vendor/python/lock.py, not by hand.\n"
    lock.write_text(made + pinned, encoding="utf-8")
    problems = check(extra, lock)
    if problems:
        sys.exit("\n".join(problems))
    size = download_bytes(lock)
    lock.write_text(f"{made}# packages: {' '.join(names)}\n# download-bytes: {size}\n{pinned}", encoding="utf-8")
    print(f"{lock.relative_to(ROOT)}: {len(re.findall('(?m)^[a-z]', pinned))} pins, {size / 1e6:.0f} MB")
    return lock


def main():
    if sys.argv[1:] == ["--check"]:
        problems = [line for extra in EXTRAS for line in check(extra, LOCKS / f"{extra}.txt")]
        print("\n".join(problems) or "every wheel is there")
        return 1 if problems else 0
    tools = resolve((HERE / "requirements.in").read_text(encoding="utf-8").splitlines())
    (HERE / "requirements.txt").write_text(tools, encoding="utf-8")
    LOCKS.mkdir(exist_ok=True)
    lock = None
    for extra, names in EXTRAS.items():
        lock = write(extra, names, resolve(names, lock))
    return 0


if __name__ == "__main__":
    sys.exit(main())
