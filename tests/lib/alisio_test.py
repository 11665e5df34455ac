"""For tests written in Python: a test case with a folder of its own, the program, the summary line.

    from alisio_test import Case, main

    class Version(Case):
        def test_says_its_name(self):
            self.assertIn("alisio", self.alisio("--version").stdout)

    main()
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("B") or "build")
ALISIO = os.environ.get("ALISIO") or os.path.join(BUILD, "alisio")
SAMPLE = os.path.join(ROOT, "examples", "data", "sales.csv")


class Case(unittest.TestCase):
    """`self.dir` is the working folder, `self.env` the environment with a state of its own."""

    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="case-")
        self.addCleanup(shutil.rmtree, self.top, ignore_errors=True)
        self.dir = os.path.join(self.top, "work")
        os.mkdir(self.dir)
        self.env = dict(os.environ, ALISIO_STATE_HOME=os.path.join(self.top, "state"),
                        ALISIO_CONFIG_HOME=os.path.join(self.top, "config"), LC_ALL="C.UTF-8")

    def alisio(self, *args, status=0, stdin="", timeout=60, **env):
        """Runs the program and checks its exit status (None: any)."""
        done = subprocess.run([ALISIO, *args], cwd=self.dir, env=dict(self.env, **env), input=stdin,
                              capture_output=True, encoding="utf-8", timeout=timeout)
        if status is not None and done.returncode != status:
            self.fail(f"{args} ended with {done.returncode}, not {status}\n"
                      f"stdout: {done.stdout}\nstderr: {done.stderr}")
        return done

    def json(self, *args, **options):
        """The JSON document that a command with --json prints."""
        return json.loads(self.alisio(*args, "--json", **options).stdout)

    def events(self, *args, **options):
        """The events of `alisio run ... --json`, a list."""
        return [json.loads(line) for line in
                self.alisio("run", *args, "--json", **options).stdout.splitlines()]


class _Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


def main():
    """Runs the tests of the calling file and ends the process."""
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=1, resultclass=_Result)
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    module = sys.modules["__main__"]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = runner.run(suite)
    for test, why in result.skipped:
        print(f"SKIP {test.id()}: {why}")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    sys.exit(1 if failed else 0)
