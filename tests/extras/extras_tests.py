"""The optional packages of scripts: installed from an index that the tests keep, whole or not at all,
and once from the real one."""
import base64
import glob
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import zipfile

from alisio_test import ALISIO, ROOT, Case, main
from scripted import install as install_model
from terminal import Terminal

OFFLINE_S = 60  # ten, on a machine that does nothing else
LOCK = os.path.join("stdlib", "python", "extras", "analysis.txt")


def wheel(name, version, tag="py3-none-any"):
    """The name and the bytes of a wheel with one module."""
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{name}-{version}.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{name}-{version}.dist-info/entry_points.txt": f"[console_scripts]\n{name} = {name}:VERSION\n",
    }
    record = f"{name}-{version}.dist-info/RECORD"
    lines = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},"
             f"{len(text)}" for path, text in files.items()]
    files[record] = "\n".join([*lines, f"{record},,"]) + "\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), text)
    return f"{name}-{version}-{tag}.whl", packed.getvalue()


class Index(http.server.ThreadingHTTPServer):
    """A package index. What `held` names is not sent before `release` is set."""
    daemon_threads = True

    def __init__(self, wheels):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(wheels)
        self.held, self.asked, self.release = None, threading.Event(), threading.Event()
        self.downloads = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/simple"

    def handle_error(self, request, client_address):
        pass  # a client that was killed


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        name = self.path.rstrip("/").rpartition("/")[2]
        if self.path.startswith("/simple/"):
            links = "".join(f'<a href="/files/{file}">{file}</a>' for file in self.server.files
                            if file.startswith(name + "-"))
            return self.answer(("<!DOCTYPE html><html><body>" + links).encode(), "text/html")
        self.server.downloads.append(name)
        if self.server.held and name.startswith(self.server.held):
            self.server.asked.set()
            self.server.release.wait(180)
        return self.answer(self.server.files[name], "application/octet-stream")

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class ExtrasCase(Case):
    def setUp(self):
        super().setUp()
        self.state = self.env["ALISIO_STATE_HOME"]
        self.home = os.path.join(self.state, "runtimes", "python", "extras")
        self.env.update(PIP_NO_CACHE_DIR="1")
        for name in ("PIP_FIND_LINKS", "PIP_DEFAULT_TIMEOUT"):
            self.env.pop(name, None)

    def setup(self, status=0, **env):
        return self.alisio("analysis", "setup", "--extras", "analysis", "--python", sys.executable, "--json",
                           status=status, timeout=300, **env)

    def refused(self, **env):
        return json.loads(self.setup(status=1, **env).stdout)["error"]

    def environments(self):
        return sorted(os.path.basename(path) for path in glob.glob(os.path.join(self.home, "*-*")))

    def parts(self):
        return glob.glob(os.path.join(self.home, ".part-*"))

    def python_run(self, code, *options, script=None, **more):
        """The result of a script that runs without a question, or the error."""
        driver = os.path.join(self.dir, "driver.lua")
        with open(driver, "w", encoding="utf-8") as file:
            file.write(script or """
                local result, message, id = require("alisio").python(require("std.json").decode((...)))
                io.write(require("std.json").encode(result or { error = id, message = message }), "\\n")
            """)
        done = self.alisio("script", "--allow-analysis", "--python", sys.executable, *options, driver,
                           json.dumps({"code": code, **more}), timeout=300)
        return json.loads(done.stdout)


class Extras(ExtrasCase):
    def setUp(self):
        super().setUp()
        self.index = Index([wheel("alpha", "1.0"), wheel("beta", "2.0")])
        self.addCleanup(self.index.shutdown)
        self.addCleanup(self.index.release.set)
        self.assets = os.path.join(self.top, "assets")
        os.makedirs(os.path.join(self.assets, os.path.dirname(LOCK)))
        self.env.update(ALISIO_ASSET_PATH=self.assets, PIP_INDEX_URL=self.index.url)
        self.lock()

    def lock(self, **hashes):
        """Pins the packages of the index; `alpha="00…"` pins another hash for one."""
        lines = ["# made by a test", "# packages: alpha beta", "# download-bytes: 2048"]
        for file, body in sorted(self.index.files.items()):
            name, version = file.split("-")[:2]
            lines += [f"{name}=={version} \\", f"    --hash=sha256:{hashes.get(name) or hashlib.sha256(body).hexdigest()}"]
        with open(os.path.join(self.assets, LOCK), "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")

    def test_an_environment_of_its_own_is_made_and_used(self):
        said = json.loads(self.setup().stdout)
        self.assertEqual((said["extras"], said["reused"], said["packages"]), ("analysis", False, ["alpha", "beta"]))
        self.assertEqual(said["python"]["prefix"], os.path.join(self.home, *self.environments()))
        self.assertEqual(self.parts(), [])
        programs = os.listdir(os.path.join(said["python"]["prefix"], "bin"))
        self.assertTrue(all(name.startswith("python") for name in programs), programs)
        self.assertTrue(json.loads(self.setup().stdout)["reused"])
        self.assertEqual(self.json("analysis", "status", "--python", sys.executable)["python"]["extras"], ["analysis"])
        self.assertIn("with the packages of analysis\n",
                      self.alisio("analysis", "status", "--python", sys.executable).stdout)
        result = self.python_run("import alpha, beta, sys\nfrom alisio_runtime import output_dir\n"
                                 "(output_dir() / 'v.txt').write_text(alpha.VERSION + beta.VERSION + sys.prefix)",
                                 extras=["analysis"])
        self.assertIn("exit status 0", result["text"])
        (job,) = glob.glob(os.path.join(self.state, "analysis/jobs/*/*/*/job.json"))
        with open(job, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["runtime"]["extras"], "analysis")
        (manifest,) = glob.glob(os.path.join(self.state, "artifacts/*/*/*/manifest.json"))
        with open(manifest, encoding="utf-8") as file:
            text = file.read()
        self.assertIn('"extras"', text)
        self.assertNotIn(self.state, text)
        with open(glob.glob(os.path.join(os.path.dirname(manifest), "files", "*"))[0], encoding="utf-8") as file:
            self.assertEqual(file.read(), "1.02.0" + said["python"]["prefix"])
        # The other scripts go on with the standard library.
        self.assertIn("No module named 'alpha'", self.python_run("import alpha")["text"])

    def test_a_file_of_another_hash_is_not_installed(self):
        self.setup()
        before = self.environments()
        self.lock(beta="0" * 64)
        error = self.refused()
        self.assertEqual((error["code"], error["reason"], error["object"]), ("extras_failed", "hash", "beta"))
        self.assertIn("SHA-256 differs", error["message"])
        self.assertEqual((self.environments(), self.parts()), (before, []))
        self.lock()
        self.assertTrue(json.loads(self.setup().stdout)["reused"])

    def test_what_is_damaged_or_outdated_is_made_anew_and_goes(self):
        self.setup()
        (before,) = self.environments()
        with open(os.path.join(self.home, before, "alisio.json"), "w", encoding="utf-8") as file:
            file.write("{")
        self.assertFalse(json.loads(self.setup().stdout)["reused"])
        self.index.files = dict([wheel("alpha", "1.1"), wheel("beta", "2.0")])
        self.lock()
        self.assertFalse(json.loads(self.setup().stdout)["reused"])
        (after,) = self.environments()
        self.assertNotEqual(before, after)
        os.unlink(os.path.join(self.home, after, "bin", "python"))
        self.assertIn("analysis setup", self.python_run("import alpha", extras=["analysis"])["message"])

    def test_without_an_index_it_says_so_soon(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        for url in (f"http://127.0.0.1:{port}/simple", f"http://127.0.0.1:{silent.getsockname()[1]}/simple"):
            began = time.monotonic()
            error = self.refused(PIP_INDEX_URL=url)
            self.assertLess(time.monotonic() - began, OFFLINE_S)
            self.assertEqual(error["reason"], "offline")
            self.assertIn("Nothing was installed", error["message"])
            self.assertEqual((self.environments(), self.parts()), ([], []))
        self.assertIn("exit status 0", self.python_run("print(1)")["text"])

    def test_without_any_network_it_says_so_soon(self):
        if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
            self.skipTest("no right to make a network namespace")
        self.env.pop("PIP_INDEX_URL")
        began = time.monotonic()
        done = subprocess.run(["unshare", "-n", ALISIO, "analysis", "setup", "--extras", "science", "--python", sys.executable],
                              cwd=self.dir, env={**self.env, "ALISIO_ASSET_PATH": ""}, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", timeout=300, check=False)
        self.assertLess(time.monotonic() - began, OFFLINE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the package index could not be reached", done.stderr)
        self.assertEqual((self.environments(), self.parts()), ([], []))

    def test_a_package_without_a_wheel_for_this_machine_is_named(self):
        self.index.files = dict([wheel("alpha", "1.0"), wheel("beta", "2.0", "cp27-cp27m-win32")])
        self.lock()
        error = self.refused()
        self.assertEqual((error["reason"], error["object"]), ("wheel", "beta"))

    def test_a_python_without_pip_uses_the_one_it_brings_along(self):
        bare = os.path.join(self.top, "bare")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
        done = self.alisio("analysis", "setup", "--extras", "analysis", "--python", os.path.join(bare, "bin", "python"),
                           "--json", timeout=300)
        prefix = json.loads(done.stdout)["python"]["prefix"]
        self.assertTrue(glob.glob(os.path.join(prefix, "lib", "*", "site-packages", "beta.py")))

    def start(self):
        """Starts an installation that waits for a file, and comes back when it does."""
        self.index.held = "beta"
        child = subprocess.Popen([ALISIO, "analysis", "setup", "--extras", "analysis", "--python", sys.executable],
                                 cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.assertTrue(self.index.asked.wait(180))
        return child

    def installers(self):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as line:
                    if self.home.encode() in line.read():
                        found.append(name)
            except OSError:
                pass
        return found

    def test_kill_9_in_the_middle_leaves_no_environment(self):
        child = self.start()
        self.assertEqual(len(self.parts()), 1)
        child.kill()
        child.wait()
        deadline = time.monotonic() + 5
        while self.installers():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertEqual(self.environments(), [])
        self.index.held = None
        self.assertIn("analysis setup", self.python_run("import alpha", extras=["analysis"])["message"])
        self.assertFalse(json.loads(self.setup().stdout)["reused"])
        self.assertEqual((len(self.environments()), self.parts()), (1, []))

    def test_an_interrupt_leaves_nothing(self):
        child = self.start()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(180), 130)
        self.assertEqual((self.environments(), self.parts(), self.installers()), ([], [], []))

    def test_two_at_once_install_once(self):
        child = self.start()
        second = subprocess.Popen([ALISIO, "analysis", "setup", "--extras", "analysis", "--python", sys.executable, "--json"],
                                  cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        self.index.release.set()
        self.assertEqual((child.wait(180), second.wait(180)), (0, 0))
        second.stdout.close()
        self.assertEqual(len(self.environments()), 1)
        self.assertEqual(sum(name.startswith("beta") for name in self.index.downloads), 1)

    def test_nobody_to_ask_installs_nothing_and_names_the_command(self):
        for options in ((), ("--allow-process",)):
            result = self.python_run("import alpha", *options, extras=["analysis"])
            self.assertEqual(result["error"], "permission_denied")
            self.assertIn("alisio analysis setup --extras analysis", result["message"])
        self.assertEqual((self.environments(), self.index.downloads), ([], []))
        self.assertIn("alisio analysis setup --extras",
                      self.alisio("analysis", "status", "--python", sys.executable).stdout)

    def terminal(self, calls, *options):
        install_model(self.env, calls)
        env = {name: value for name, value in self.env.items() if name.startswith(("ALISIO_", "PIP_"))}
        env.update(PATH=os.environ["PATH"], HOME=self.top, TERM="screen", LC_ALL="C.UTF-8")
        return Terminal([ALISIO, "run", "--python", sys.executable, *options, "do it"], self.dir, env, columns=110, rows=40, deadline=180)

    def answer(self, terminal, key):
        screen = terminal.wait_for("[a] Allow once")
        time.sleep(0.5)  # the panel is deaf for its first 400 ms
        terminal.keys(key)
        return "\n".join(screen)

    def test_it_is_always_asked_and_never_remembered(self):
        call = ["python_run", {"code": "import alpha\nprint('alpha', alpha.VERSION)", "extras": ["analysis"]}]
        with self.terminal([call, call], "--allow-analysis", "--allow-process") as t:
            screen = self.answer(t, "d")
            for words in ("Install packages", "alpha, beta", "2 KiB", "needs the network", "SHA-256", "import alpha"):
                self.assertIn(words, screen)
            self.assertNotIn("for this session", screen)
            t.wait_for("denied")
            self.assertEqual(self.environments(), [])
            self.answer(t, "a")
            self.assertEqual(t.status(), 0)
            self.assertTrue(any("alpha 1.0" in line for line in t.screen()), t.screen())
        self.assertEqual(len(self.environments()), 1)


class RealIndex(ExtrasCase):
    """The packages themselves. What was installed is kept in the build folder, by the hash of the lock
    file: the next run only looks whether it still works."""

    def setUp(self):
        super().setUp()
        self.env.pop("PIP_NO_CACHE_DIR")
        for name in ("PIP_FIND_LINKS",):
            self.env.pop(name, None)
        with open(os.path.join(ROOT, LOCK), "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()[:12]
        kept = os.path.join(ROOT, "build", "extras", f"{digest}-{sys.version_info[0]}.{sys.version_info[1]}")
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        self.env["ALISIO_STATE_HOME"] = self.state = kept
        self.home = os.path.join(kept, "runtimes", "python", "extras")
        done = self.setup(status=None)
        if done.returncode:
            error = json.loads(done.stdout)["error"]
            if error.get("reason") == "offline":
                raise unittest.SkipTest("the package index cannot be reached")
            self.fail(error)

    def tearDown(self):
        for name in ("analysis", "artifacts", "blobs"):
            shutil.rmtree(os.path.join(self.state, name), ignore_errors=True)

    def test_pandas_reads_a_dataset_and_the_packages_work(self):
        with open(os.path.join(self.dir, "sales.csv"), "w", encoding="utf-8") as file:
            file.write("region,total\nEast,1.5\nWest,2.5\nEast,4\n")
        code = """
import sys
import docx, jinja2, matplotlib.pyplot as plot, numpy, openpyxl, pandas, plotly.express, reportlab.pdfgen.canvas
from alisio_runtime import datasets, html, output_dir

db = datasets.open("sales")
frame = pandas.read_sql_query("SELECT region, sum(total) AS total FROM data GROUP BY region ORDER BY region", db)
print("frame", frame.to_dict("list"), frame["total"].dtype)
out = output_dir()
frame.to_excel(out / "sales.xlsx", index=False)
plot.bar(frame["region"], frame["total"])
plot.savefig(out / "sales.png")
document = docx.Document()
document.add_paragraph("Sales")
document.save(out / "sales.docx")
canvas = reportlab.pdfgen.canvas.Canvas(str(out / "sales.pdf"))
canvas.drawString(72, 720, "Sales")
canvas.save()
figure = plotly.express.bar(frame, x="region", y="total")
html.write("sales.html", "Sales", html.inline_plotly() + figure.to_html(full_html=False, include_plotlyjs=False))
print("from", sys.prefix)
"""
        result = self.python_run("", script=f"""
            local alisio, json = require "alisio", require "std.json"
            local set = assert(alisio.dataset.open "sales.csv")
            local result, message = alisio.python {{ code = [==[{code}]==], extras = {{ "analysis" }},
              inputs = {{ {{ datasetId = set.id }} }} }}
            io.write(json.encode(result or {{ message = message }}), "\\n")
        """)
        self.assertIn("exit status 0", result.get("text", str(result)))
        self.assertIn("frame {'region': ['East', 'West'], 'total': [5.5, 2.5]} float64", result["text"])
        self.assertIn("from " + self.home, result["text"])
        kinds = {os.path.splitext(name)[1] for name in re.findall(r"Published \S+: (\S+)", result["text"])}
        self.assertEqual(kinds, {".xlsx", ".png", ".docx", ".pdf", ".html"})


main()
