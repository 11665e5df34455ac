#!/usr/bin/env python3
"""`alisio data` and `alisio artifact` by their contract, and what is left when they are killed."""
import glob
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import threading
import time
import zipfile

from alisio_test import ALISIO, Case, SAMPLE, main

SALES = "Región,Total,Código\nNorte,1.5,007\nSur,2,\n\"Sur, centro\",3,x\n"


class Files(Case):
    def put(self, name, text):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text.encode() if isinstance(text, str) else text)
        return path

    def state(self, *pattern):
        return sorted(glob.glob(os.path.join(self.env["ALISIO_STATE_HOME"], *pattern), recursive=True, include_hidden=True))

    def error(self, *args, status=1, **options):
        done = self.alisio(*args, "--json", status=status, **options)
        return json.loads(done.stdout)["error"]


class Data(Files):
    def test_an_interrupted_command_says_so_and_leaves_nothing(self):
        self.put("big.csv", b"a,b,c\n" + b"1,some text,2.5\n" * 4000000)
        self.put("small.csv", SALES)
        endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"
        for args in (("inspect", "big.csv"), ("query", "small.csv", endless)):
            for number in (signal.SIGINT, signal.SIGTERM):
                run = subprocess.Popen([ALISIO, "data", *args, "--json"], cwd=self.dir, env=self.env, encoding="utf-8",
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(0.5)
                run.send_signal(number)
                out, err = run.communicate(timeout=30)
                self.assertEqual((run.returncode, err), (130, ""))
                self.assertEqual(json.loads(out)["error"]["code"], "cancelled")
        left = [f for f in self.state("analysis", "datasets", "**") if os.path.isfile(f)]
        self.assertEqual([f for f in left if not f.endswith(".sqlite")], [])
        self.assertLessEqual(len(left), 1)  # the small one may be whole

    def test_inspect_tells_all_of_the_contract(self):
        path = self.put("sales.csv", SALES)
        doc = self.json("data", "inspect", "sales.csv")
        info = doc["dataset"]
        self.assertEqual((info["name"], info["format"], info["encoding"], info["delimiter"]), ("sales", "csv", "utf-8", ","))
        self.assertEqual((info["rows"], info["irregularRows"], info["reused"]), (3, 0, False))
        with open(path, "rb") as f:
            raw = f.read()
        self.assertEqual((info["sha256"], info["bytes"]), (hashlib.sha256(raw).hexdigest(), len(raw)))
        sheet = doc["sheets"][0]
        self.assertEqual((sheet["name"], sheet["table"], sheet["rows"]), ("data", "data", 3))
        region, total, code = sheet["columns"]
        self.assertEqual((region["name"], region["label"], region["type"]), ("region", "Región", "text"))
        self.assertEqual((total["mean"], total["min"], total["max"]), (2.1666666666666665, "1.5", "3"))
        self.assertEqual(code["nulls"], 1)
        self.assertEqual(sheet["sample"][0], ["Norte", 1.5, "007"])
        self.assertEqual(doc["notes"], [])
        self.assertTrue(os.path.isabs(info["path"]))
        self.assertEqual(stat.S_IMODE(os.stat(info["path"]).st_mode), 0o600)
        with sqlite3.connect(f"file:{info['path']}?mode=ro&immutable=1", uri=True) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertEqual(db.execute("SELECT * FROM data").fetchall()[0], ("Norte", 1.5, "007"))

    def test_the_same_file_is_not_read_twice(self):
        self.put("sales.csv", SALES)
        first = self.json("data", "inspect", "sales.csv")["dataset"]
        again = self.json("data", "inspect", "sales.csv")["dataset"]
        self.assertEqual((again["id"], again["reused"]), (first["id"], True))
        self.assertEqual(self.json("data", "query", first["id"], "SELECT count(*) FROM data")["rows"], [[3]])

    def test_options_say_how_to_read(self):
        self.put("odd.csv", "one note\na;b\n1;2\n3;4\n")
        doc = self.json("data", "inspect", "odd.csv", "--skip", "1", "--delimiter", ";", "--sample", "1")
        self.assertEqual([c["name"] for c in doc["sheets"][0]["columns"]], ["a", "b"])
        self.assertEqual(doc["sheets"][0]["sample"], [[1, 2]])
        self.put("bare.csv", "x,y\nz,w\n")
        self.assertEqual(self.json("data", "inspect", "bare.csv", "--no-header")["dataset"]["rows"], 2)
        self.assertEqual(self.json("data", "inspect", "bare.csv", "--header")["dataset"]["rows"], 1)
        self.put("west.csv", "a\né\n".encode("windows-1252"))
        doc = self.json("data", "inspect", "west.csv", "--encoding", "windows-1252")
        self.assertEqual(doc["sheets"][0]["sample"], [["é"]])
        self.put("tab.csv", "a,b\tc\n1,2\t3\n")
        self.assertEqual(len(self.json("data", "inspect", "tab.csv", "--delimiter", "tab")["sheets"][0]["columns"]), 2)

    def test_ragged_rows_are_told(self):
        self.put("r.csv", "a,b\n1\n1,2,3\n1,2\n")
        doc = self.json("data", "inspect", "r.csv")
        self.assertEqual(doc["dataset"]["irregularRows"], 2)
        self.assertRegex(" ".join(doc["notes"]), r"line 2.*line 3")
        self.assertRegex(self.alisio("data", "inspect", "r.csv", LC_ALL="es_ES.UTF-8").stdout, "menos campos")

    def test_query_gives_exact_cells(self):
        self.put("sales.csv", SALES)
        answer = self.json("data", "query", "sales.csv",
                           "SELECT 9007199254740993, 1e999, x'00ff', NULL, 1.0, 'a' AS n, 2 AS n")
        self.assertEqual(answer["rows"], [["9007199254740993", "Infinity", "x'00ff'", None, 1.0, "a", 2]])
        self.assertEqual(answer["columns"][-2:], ["n", "n"])
        self.assertFalse(answer["truncated"])
        self.assertIsInstance(answer["elapsedMs"], (int, float))
        answer = self.json("data", "query", "sales.csv", "SELECT total FROM data", "--max-rows", "2")
        self.assertEqual((answer["rows"], answer["truncated"]), ([[1.5], [2]], True))

    def test_no_time_is_too_long_or_too_short(self):
        self.put("sales.csv", SALES)
        self.assertEqual(self.json("data", "query", "sales.csv", "SELECT 1", "--timeout", "9" * 20)["rows"], [[1]])
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
        self.assertIn("query_timeout", self.alisio("data", "query", "sales.csv", endless, "--timeout", "0", "--json", status=1).stdout)

    def test_sql_comes_from_standard_input_and_may_begin_with_a_dash(self):
        self.put("sales.csv", SALES)
        self.assertEqual(self.json("data", "query", "sales.csv", "-", stdin="SELECT 1")["rows"], [[1]])
        done = self.alisio("data", "query", "--json", "--", "sales.csv", "-- a comment\nSELECT 2")
        self.assertEqual(json.loads(done.stdout)["rows"], [[2]])

    def test_words_for_people(self):
        self.put("sales.csv", SALES)
        out = self.alisio("data", "query", "sales.csv", "SELECT region, total FROM data ORDER BY total").stdout
        self.assertEqual(out.splitlines(), ["region       total", "Norte          1.5", "Sur              2", "Sur, centro      3"])
        out = self.alisio("data", "inspect", "sales.csv").stdout
        for part in ("sales.csv", "3 rows", "region", "Norte", "007"):
            self.assertIn(part, out)
        self.put("evil.csv", "a\x1b[2J,b\n\u202ex,\x1b]0;t\x07\n")
        out = self.alisio("data", "inspect", "evil.csv").stdout
        self.assertNotIn("\x1b", out)
        self.assertNotIn("\u202e", out)

    def test_failures_say_what_and_how(self):
        self.put("sales.csv", SALES)
        self.put("empty.csv", "")
        self.put("data.parquet", b"PAR1\x15\0\x15\0")
        os.mkdir(os.path.join(self.dir, "folder"))
        for code, status, args in (
                ("not_found", 1, ("inspect", "none.csv")), ("ingest_invalid", 1, ("inspect", "empty.csv")),
                ("dataset_unsupported", 1, ("inspect", "data.parquet")), ("io_error", 1, ("inspect", "folder")),
                ("usage", 2, ("inspect",)), ("usage", 2, ("inspect", "sales.csv", "--header", "--no-header")),
                ("usage", 2, ("inspect", "sales.csv", "--encoding", "klingon")), ("usage", 2, ("query", "sales.csv")),
                ("not_found", 1, ("query", "ds_00000000000000000000000000", "SELECT 1")),
                ("query_rejected", 1, ("query", "sales.csv", "DELETE FROM data")),
                ("query_rejected", 1, ("query", "sales.csv", "SELECT 1; SELECT 2")),
                ("query_failed", 1, ("query", "sales.csv", "SELECT nope FROM data")),
                ("query_timeout", 1, ("query", "sales.csv", "--timeout", "50", "WITH RECURSIVE t(x) AS (SELECT 1 "
                                      "UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"))):
            with self.subTest(args=args):
                error = self.error("data", *args, status=status)
                self.assertEqual(error["code"], code)
                self.assertTrue(error["message"])
        self.assertIn("empty.csv", self.error("data", "inspect", "empty.csv")["message"])
        self.assertEqual(len(self.state("analysis", "datasets", "**", "*.sqlite")), 1)

    def test_limits_come_from_the_configuration(self):
        self.put("sales.csv", SALES)
        os.mkdir(self.env["ALISIO_CONFIG_HOME"])
        with open(os.path.join(self.env["ALISIO_CONFIG_HOME"], "config.json"), "w", encoding="utf-8") as f:
            json.dump({"analysis": {"data": {"maxRows": 2}}}, f)
        error = self.error("data", "inspect", "sales.csv")
        self.assertEqual(error["code"], "ingest_limit")
        self.assertIn("analysis.data.maxRows", error["message"])
        self.assertEqual(self.state("analysis", "datasets", "**", "*.sqlite"), [])

    def test_a_killed_engine_is_reported_and_leaves_nothing(self):
        self.put("big.csv", "a,b\n" + "1234567,abcdefg\n" * 4000000)
        with subprocess.Popen([ALISIO, "data", "inspect", "big.csv", "--json"], cwd=self.dir, env=self.env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as host:
            deadline = time.monotonic() + 20
            engine = None
            while engine is None and time.monotonic() < deadline:
                children = subprocess.run(["pgrep", "-P", str(host.pid)], capture_output=True, text=True).stdout.split()
                engine = int(children[0]) if children else None
            self.assertIsNotNone(engine)
            time.sleep(0.05)
            os.kill(engine, signal.SIGKILL)
            out, _ = host.communicate(timeout=20)
        self.assertEqual(host.returncode, 1)
        error = json.loads(out)["error"]
        self.assertEqual(error["code"], "engine_failed")
        self.assertIn("signal 9", error["message"])
        self.assertEqual(self.state("analysis", "datasets", "**", "*.sqlite*"), [])

    def test_kills_at_any_instant_leave_no_half_dataset(self):
        self.put("some.csv", "a,b\n" + "1234567,abcdefg\n" * 60000)
        random.seed(7)
        for _ in range(25):
            with subprocess.Popen([ALISIO, "data", "inspect", "some.csv", "--no-header"], cwd=self.dir, env=self.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as host:
                time.sleep(random.uniform(0, 0.25))
                host.kill()
            for path in self.state("analysis", "datasets", "**", "*.sqlite"):
                with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as db:
                    self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        kept = self.json("data", "inspect", "some.csv", "--no-header")["dataset"]["path"]
        self.assertEqual([p for p in self.state("analysis", "datasets", "**", "*") if os.path.isfile(p)], [kept])

    def test_commands_side_by_side_share_the_session(self):
        for i in range(6):
            self.put(f"f{i}.csv", f"a\n{i}\n")
        runs = [subprocess.Popen([ALISIO, "data", "query", f"f{i}.csv", "SELECT a FROM data", "--json"], cwd=self.dir,
                                 env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(6)]
        for i, run in enumerate(runs):
            out, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 0, err)
            self.assertEqual(json.loads(out)["rows"], [[i]])


class Artifacts(Files):
    def publish(self, *args, **options):
        return self.json("artifact", "publish", "out", *args, **options)

    def test_publish_list_details_open(self):
        self.put("out/summary.md", "# Summary\n")
        self.put("out/site/index.html", "<!doctype html><p>x</p>")
        self.put("out/site/a.js", "1")
        self.put("out/parts/x.csv", "a\n1\n")
        arts = {a["fileName"]: a for a in self.publish()["artifacts"]}
        md, site, parts = arts["summary.md"], arts["site.zip"], arts["parts.zip"]
        self.assertEqual((md["kind"], md["mimeType"], md["bytes"], md["fileCount"], md["status"]),
                         ("document", "text/markdown; charset=utf-8", 10, 1, "ready"))
        with open(md["path"], "rb") as f:
            self.assertEqual(hashlib.sha256(f.read()).hexdigest(), md["sha256"])
        self.assertEqual((site["kind"], site["fileCount"], site["entry"]), ("dashboard", 2, "index.html"))
        self.assertEqual(zipfile.ZipFile(parts["path"]).namelist(), ["parts/x.csv"])
        self.assertEqual({a["id"] for a in self.json("artifact", "list")["artifacts"]}, {a["id"] for a in arts.values()})
        self.assertEqual(self.json("artifact", "open", site["id"])["path"], os.path.join(site["path"], "index.html"))
        self.assertEqual(self.alisio("artifact", "open", md["id"]).stdout.strip(), md["path"])
        details = self.json("artifact", "details", site["id"])["artifact"]
        self.assertEqual([f["path"] for f in details["files"]], ["a.js", "index.html"])
        manifest = os.path.join(os.path.dirname(site["path"]), "manifest.json")
        with open(manifest, encoding="utf-8") as f:
            text = f.read()
        self.assertEqual(json.loads(text)["id"], site["id"])
        self.assertNotIn(self.top, text)
        self.assertIn(md["id"], self.alisio("artifact", "list").stdout)
        shown = self.alisio("artifact", "details", site["id"], LC_ALL="es_ES.UTF-8").stdout
        for line in ("estado   listo", "tamaño   24 bytes", "parte    a.js  1 bytes", f"ruta     {site['path']}"):
            self.assertIn(line + "\n", shown)

    def test_export_and_delete(self):
        self.put("out/a.md", "# a\n")
        self.put("out/site/index.html", "<p>x</p>")
        one, site = self.publish()["artifacts"]
        done = self.json("artifact", "export", one["id"], "copies/b.md")
        self.assertEqual((done["path"], done["bytes"]), (os.path.join(self.dir, "copies", "b.md"), 4))
        self.assertEqual(self.error("artifact", "export", one["id"], "copies/b.md", status=2)["code"], "usage")
        self.json("artifact", "export", one["id"], "copies/b.md", "--force")
        self.json("artifact", "export", one["id"], "copies")
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "copies"))), ["a.md", "b.md"])
        self.json("artifact", "export", site["id"])
        self.assertEqual(zipfile.ZipFile(os.path.join(self.dir, "site.zip")).namelist(), ["index.html"])
        self.assertEqual(self.json("artifact", "delete", one["id"])["deleted"], [one["id"]])
        self.assertFalse(os.path.exists(os.path.dirname(os.path.dirname(one["path"]))))
        self.assertEqual(self.error("artifact", "delete", one["id"])["code"], "not_found")

    def test_refusals_carry_their_reason_and_leave_nothing(self):
        self.put("out/ok.md", "x")
        for name, make, reason in (
                ("l", lambda p: os.symlink("/etc/passwd", p), "symlink"),
                ("h", lambda p: os.link(os.path.join(self.dir, "out", "ok.md"), p), "hardlink"),
                ("f", os.mkfifo, "special_file"), (".x", lambda p: open(p, "w").close(), "hidden"),
                ("e", os.mkdir, "empty")):
            path = os.path.join(self.dir, "out", name)
            make(path)
            error = self.error("artifact", "publish", "out")
            self.assertEqual((error["code"], error["reason"]), ("artifact_rejected", reason))
            self.assertTrue(error["message"])
            (os.rmdir if name == "e" else os.unlink)(path)
        self.assertEqual([p for p in self.state("artifacts", "**", "*") if os.path.isfile(p)], [])
        self.assertEqual(self.error("artifact", "publish", "none")["code"], "not_found")
        self.assertEqual(self.error("artifact", "publish", status=2)["code"], "usage")

    def test_names_are_shown_and_not_obeyed(self):
        name = "a\u202etxt.exe"
        self.put("out/" + name, "x")
        done = self.alisio("artifact", "publish", "out")
        art = self.json("artifact", "list")["artifacts"][0]
        self.assertEqual(art["fileName"], name)
        for said in (done, self.alisio("artifact", "open", art["id"]), self.alisio("artifact", "list"),
                     self.alisio("artifact", "details", art["id"]), self.alisio("artifact", "export", art["id"])):
            self.assertNotIn("\u202e", said.stdout + said.stderr)
            self.assertIn("\\u202etxt.exe", said.stdout + said.stderr)
        self.put("out/.h\u202eidden", "x")
        self.assertIn(".h\\u202eidden", self.alisio("artifact", "publish", "out", status=1).stderr)

    def test_only_folders_are_published(self):
        self.put("a.md", "x")
        error = self.error("artifact", "publish", "a.md", status=2)
        self.assertEqual(error["code"], "usage")
        self.assertIn(os.path.join(self.dir, "a.md"), error["message"])
        self.assertIn("no es una carpeta", self.alisio("artifact", "publish", "a.md", status=2, LC_ALL="es_ES.UTF-8").stderr)

    def test_what_a_run_made_is_there_for_the_commands_of_its_folder(self):
        shutil.copy(SAMPLE, self.dir)
        self.alisio("run", "Summarize sales.csv into report.md")
        self.put("out/a.md", "# a\n")
        own = self.publish()["artifacts"][0]
        one, two = self.json("artifact", "list")["artifacts"]
        self.assertEqual((one["fileName"], two["id"]), ("report.md", own["id"]))
        self.json("artifact", "export", one["id"])
        with open(one["path"], "rb") as made, open(os.path.join(self.dir, "report.md"), "rb") as copy:
            self.assertEqual(made.read(), copy.read())
        run = next(s["id"] for s in self.json("sessions", "list")["sessions"] if s["kind"] == "run")
        self.assertEqual([a["id"] for a in self.json("artifact", "list", "--session", run)["artifacts"]], [one["id"]])
        other = os.path.join(self.top, "other")
        os.mkdir(other)
        self.assertEqual(self.json("--cwd", other, "artifact", "list")["artifacts"], [])
        self.assertEqual(self.error("--cwd", other, "artifact", "open", one["id"], status=1)["code"], "not_found")
        self.json("artifact", "delete", "--yes", one["id"], two["id"])
        self.assertEqual(self.json("artifact", "list")["artifacts"], [])
        self.assertFalse(os.path.exists(one["path"]))

    def test_kills_at_any_instant_leave_all_or_nothing(self):
        for i in range(40):
            self.put(f"out/f{i:02}.txt", "x" * 5000)
        random.seed(11)
        for _ in range(25):
            with subprocess.Popen([ALISIO, "artifact", "publish", "out"], cwd=self.dir, env=self.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as host:
                time.sleep(random.uniform(0.02, 0.5))
                host.kill()
        self.put("last/x.md", "x")
        self.json("artifact", "publish", "last")            # the next start sweeps
        listed = self.json("artifact", "list")["artifacts"]
        self.assertEqual((len(listed) - 1) % 40, 0)
        for art in listed:
            with open(art["path"], "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).hexdigest(), art["sha256"])
        folders = [p for p in self.state("artifacts", "*", "*", "*")]
        self.assertEqual(len(folders), len(listed))

    def test_a_folder_that_changes_is_never_mixed(self):
        old, new = "a" * 100000, "b" * 100000
        path = self.put("out/f.txt", old)
        stop = threading.Event()

        def flip():
            while not stop.is_set():
                for text in (new, old):
                    with open(path + ".tmp", "w", encoding="utf-8") as f:
                        f.write(text)
                    os.replace(path + ".tmp", path)
        os.mkdir(os.path.join(self.dir, "aside"))
        thread = threading.Thread(target=flip)
        path = os.path.join(self.dir, "out", "f.txt")
        thread.start()
        try:
            for _ in range(10):
                done = self.alisio("artifact", "publish", "out", "--json", status=None)
                for art in json.loads(done.stdout).get("artifacts", []):
                    with open(art["path"], encoding="utf-8") as f:
                        self.assertIn(f.read(), (old, new, ""))
        finally:
            stop.set()
            thread.join()


main()
