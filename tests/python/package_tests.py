"""alisio_runtime as a package: it installs, works outside Alisio, and its types hold."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "lib"))
SOURCE = ROOT / "stdlib" / "python"
TOOLS = ROOT / "vendor" / "python" / "venv" / "bin"

from alisio_test import main  # noqa: E402

SCRIPT = """
from alisio_runtime import datasets, html, input_dir, output_dir, outputs, svg
chart = svg.bar(["Q1", "Q2"], [12, 18], title="Sales")
html.write("index.html", "Sales", f"<h1>Sales</h1>{chart}")
(output_dir() / "summary.md").write_text("# Summary\\n", encoding="utf-8")
outputs.declare("index.html", title="Sales dashboard")
print(datasets.inputs(), input_dir().name)
"""

USES = """
from alisio_runtime import datasets, html, output_dir
import sqlite3
db: sqlite3.Connection = datasets.open("sales")
nulls: int = sum(column["nulls"] for column in datasets.columns("sales"))
size: int = (output_dir() / "a").stat().st_size
page: str = html.inline_plotly()
"""

WRONG = """
from alisio_runtime import datasets, html
html.write(1, "t", "b")
datasets.columns("sales")[0]["mode"]
"""


@unittest.skipUnless((TOOLS / "mypy").exists(), "no network: the packages of vendor/python are not there")
class Package(unittest.TestCase):
    def setUp(self):
        self.top = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.top)

    def run_tool(self, name, *arguments):
        return subprocess.run([TOOLS / name, *map(str, arguments)], cwd=self.top, capture_output=True, encoding="utf-8",
                              env=dict(os.environ, MYPYPATH=""), check=False)

    def install(self):
        """Builds the wheel from a copy, for building leaves files beside the sources, and installs it."""
        copy = shutil.copytree(SOURCE, self.top / "source", ignore=shutil.ignore_patterns("__pycache__"))
        built = self.run_tool("python", "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
                              "--wheel-dir", self.top, copy)
        self.assertEqual(built.returncode, 0, built.stderr)
        (wheel,) = self.top.glob("*.whl")
        target = self.top / "installed"
        done = self.run_tool("python", "-m", "pip", "install", "--quiet", "--no-index", "--target", target, wheel)
        self.assertEqual(done.returncode, 0, done.stderr)
        return wheel, target

    def test_a_script_runs_outside_alisio_with_the_installed_package(self):
        wheel, target = self.install()
        here = self.top / "here"
        here.mkdir()
        env = {name: value for name, value in os.environ.items() if not name.startswith("ALISIO_")}
        done = subprocess.run([sys.executable, "-B", "-c", SCRIPT], cwd=here, env=dict(env, PYTHONPATH=str(target)),
                              capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "[] input\n", ""))
        self.assertEqual(sorted(os.listdir(here / "output")), ["index.html", "outputs.json", "summary.md"])
        packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("alisio_runtime/")}
        there = {path.relative_to(SOURCE).as_posix() for path in (SOURCE / "alisio_runtime").rglob("*")
                 if path.is_file() and "__pycache__" not in path.parts}
        self.assertEqual(packed, there)

    def test_its_version_is_that_of_the_program(self):
        version = re.search(r"(?m)^VERSION := (\S+)", (ROOT / "Makefile").read_text(encoding="utf-8")).group(1)
        self.assertIn(f'\nversion = "{version}"\n', (SOURCE / "pyproject.toml").read_text(encoding="utf-8"))

    def test_its_types_hold(self):
        done = self.run_tool("mypy", "--cache-dir", self.top / "cache", "--config-file", SOURCE / "pyproject.toml",
                             SOURCE / "alisio_runtime")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_script_sees_its_types(self):
        _, target = self.install()
        checks = []
        for name, code in (("uses", USES), ("wrong", WRONG)):
            (self.top / f"{name}.py").write_text(code, encoding="utf-8")
            done = subprocess.run([TOOLS / "mypy", "--strict", "--cache-dir", self.top / "cache", f"{name}.py"],
                                  cwd=self.top, env=dict(os.environ, MYPYPATH=str(target)), capture_output=True,
                                  encoding="utf-8", check=False)
            checks.append(done.stdout)
        self.assertIn("no issues found", checks[0])
        self.assertRegex(checks[1], r'(?s)incompatible type "int".*has no key "mode"')


if __name__ == "__main__":
    main()
