#!/usr/bin/env python3
"""Sessions, trust, setup and doctor as commands; two processes on one session; a full disk."""
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import unittest

from alisio_test import ALISIO, ROOT, SAMPLE, Case, main
from terminal import Terminal

DRIVER = os.path.join(ROOT, "tests", "e2e", "kill_driver.lua")


class Sessions(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(SAMPLE, self.dir)

    def a_session(self):
        return self.events("hello")[-1]["session"]

    def test_list_show_export(self):
        self.assertEqual(self.json("sessions", "list"), {"sessions": []})
        first, second = self.a_session(), self.events("Describe sales.csv")[-1]["session"]
        listed = self.json("sessions", "list")["sessions"]
        self.assertEqual([s["id"] for s in listed], [second, first])
        self.assertEqual([s["id"] for s in self.json("sessions", "list", "--limit", "1")["sessions"]], [second])
        self.assertEqual(listed[0]["title"], "Describe sales.csv")
        self.assertEqual(listed[0]["cwd"], os.path.realpath(self.dir))
        words = self.alisio("sessions", "list").stdout
        self.assertIn(second, words)
        self.assertIn("Describe sales.csv", words)

        shown = self.json("sessions", "show", second)
        self.assertEqual(shown["session"]["id"], second)
        self.assertEqual([e["seq"] for e in shown["events"]], list(range(1, len(shown["events"]) + 1)))
        self.assertIn("data_inspect", self.alisio("sessions", "show", second).stdout)

        markdown = self.alisio("sessions", "export", second).stdout
        self.assertTrue(markdown.startswith("# Describe sales.csv\n"), markdown)
        self.alisio("sessions", "export", second, "--out", "kept.md")
        kept = os.path.join(self.dir, "kept.md")
        with open(kept, encoding="utf-8") as f:
            self.assertEqual(f.read(), markdown)
        self.alisio("sessions", "export", first, "--out", "kept.md", status=2)
        with open(kept, encoding="utf-8") as f:
            self.assertEqual(f.read(), markdown)
        self.assertEqual(self.json("sessions", "export", second), shown)

    def test_printed_events_are_the_stored_ones(self):
        printed = [e for e in self.events("Describe sales.csv") if "seq" in e]
        self.assertEqual(self.json("sessions", "show", printed[0]["session"])["events"], printed)

    def test_grants_are_listed_and_taken_back(self):
        self.assertEqual(self.json("sessions", "grants"), {"grants": []})
        first, second = self.a_session(), self.a_session()
        db = sqlite3.connect(os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite"))
        for n, (session, what, runtime) in enumerate(((first, "workspace.write", None), (first, "analysis.run", "managed"),
                                                      (second, "process.\x1b[2Jshell", None))):
            db.execute("INSERT INTO grants VALUES (?, ?, ?, ?, ?, '{}')", (f"grant_{n}", session, what, runtime, n))
        db.commit()
        db.close()
        self.assertEqual([g["id"] for g in self.json("sessions", "grants")["grants"]], ["grant_0", "grant_1", "grant_2"])
        self.assertEqual([g["capability"] for g in self.json("sessions", "grants", first)["grants"]],
                         ["workspace.write", "analysis.run"])
        words = self.alisio("sessions", "grants").stdout
        self.assertRegex(words, "grant_1 .*analysis.run +managed")
        self.assertNotIn("\x1b", words)
        self.assertEqual(self.json("sessions", "revoke", "grant_1"), {"revoked": ["grant_1"]})
        self.assertEqual(self.json("sessions", "revoke", "grant_1", status=1)["error"]["code"], "not_found")
        self.assertIn("workspace.write", self.alisio("sessions", "revoke", first).stderr)
        self.assertEqual([g["id"] for g in self.json("sessions", "grants")["grants"]], ["grant_2"])
        self.alisio("sessions", "revoke", status=2)
        self.alisio("sessions", "grants", "ses_none", status=1)

    def test_delete(self):
        session = self.events("Describe sales.csv")[-1]["session"]
        state = self.env["ALISIO_STATE_HOME"]
        found = subprocess.run(["find", state, "-name", session], capture_output=True, text=True).stdout
        self.assertIn(session, found)
        self.assertEqual(self.json("sessions", "delete", session), {"deleted": [session]})
        found = subprocess.run(["find", state, "-name", session], capture_output=True, text=True).stdout
        self.assertEqual(found, "")
        self.assertEqual(self.json("sessions", "list"), {"sessions": []})
        failed = self.json("sessions", "delete", session, status=1)
        self.assertEqual(failed["error"]["code"], "not_found")
        self.assertIn("sessions list", failed["error"]["message"])

    def test_spanish(self):
        failed = self.alisio("sessions", "show", "ses_x", status=1, LC_ALL="es_ES.UTF-8")
        self.assertIn("No hay una sesión ses_x", failed.stderr)

    def test_names_cannot_act_on_the_terminal(self):
        failed = self.alisio("sessions", "show", "ses\x1b[31m", status=1)
        self.assertIn("ses\\u001b[31m", failed.stderr)
        self.assertNotIn("\x1b", failed.stderr)

    def test_files_are_private_under_any_umask(self):
        old = os.umask(0)
        try:
            self.events("Describe sales.csv")
        finally:
            os.umask(old)
        for folder, _, names in os.walk(self.env["ALISIO_STATE_HOME"]):
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode) & 0o077, 0, folder)
            for name in names:
                path = os.path.join(folder, name)
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, path)

    def test_two_processes(self):
        holder = subprocess.Popen([ALISIO, "script", DRIVER], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            session = json.loads(holder.stdout.readline())["session"]
            # Keep reading, so that the holder goes on writing meanwhile.
            sink = subprocess.Popen(["cat"], stdin=holder.stdout, stdout=subprocess.DEVNULL)
            refused = self.json("resume", session, "hello", status=1)["error"]
            self.assertEqual(refused["code"], "session_locked")
            self.assertIn(f"process {holder.pid}", refused["message"])
            self.assertEqual(refused["pid"], holder.pid)
            before = len(self.json("sessions", "show", session)["events"])
            self.assertGreater(before, 0)
            self.assertIn(session, [s["id"] for s in self.json("sessions", "list")["sessions"]])
            self.assertEqual(self.json("sessions", "delete", session, status=1)["error"]["code"], "session_locked")
            self.assertIsNone(holder.poll())
        finally:
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            holder.stdout.close()
            sink.wait()
        self.assertGreaterEqual(len(self.json("sessions", "show", session)["events"]), before)
        self.assertEqual(self.events("hello", "--session", session)[-1]["status"], "completed")


class Questions(Case):
    """Delete and trust ask on a terminal; anything but yes keeps what there is."""

    def ask(self, key, *words):
        env = {name: value for name, value in self.env.items() if name.startswith("ALISIO_")}
        env.update(PATH=os.environ["PATH"], HOME=self.top, TERM="screen", LC_ALL="C.UTF-8")
        with Terminal([ALISIO, *words], self.dir, env, columns=120) as terminal:
            terminal.wait_for("[y/N]")
            terminal.keys(key, "Enter")
            return terminal.status()

    def test_delete(self):
        session = self.events("hello")[-1]["session"]
        self.assertEqual(self.ask("n", "sessions", "delete", session), 3)
        self.assertEqual([s["id"] for s in self.json("sessions", "list")["sessions"]], [session])
        self.assertEqual(self.ask("y", "sessions", "delete", session), 0)
        self.assertEqual(self.json("sessions", "list"), {"sessions": []})

    def test_trust(self):
        os.mkdir(os.path.join(self.dir, ".alisio"))
        with open(os.path.join(self.dir, ".alisio", "config.json"), "w", encoding="utf-8") as f:
            f.write("{}")
        self.assertEqual(self.ask("n", "trust"), 3)
        self.assertEqual(self.json("trust", "--show")["status"], "untrusted")
        self.assertEqual(self.ask("y", "trust"), 0)
        self.assertEqual(self.json("trust", "--show")["status"], "trusted")


class Trust(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(os.path.join(self.dir, ".alisio"))
        self.write("config.json", '{"analysis": {"enabled": false}}')
        self.write("init.lua", "-- \x1b[31mred\n")

    def write(self, name, text):
        with open(os.path.join(self.dir, ".alisio", name), "w", encoding="utf-8") as f:
            f.write(text)

    def value(self, key):
        values = self.json("doctor", "--config")["config"]
        return next(entry for entry in values if entry["key"] == key)

    def test_asks_shows_and_binds(self):
        self.assertEqual(self.value("analysis.enabled")["source"], "default")
        refused = self.alisio("trust", status=3)
        self.assertIn('"enabled": false', refused.stdout)
        self.assertIn("\\u001b[31mred", refused.stdout)
        self.assertNotIn("\x1b[31m", refused.stdout)
        self.assertEqual(self.value("analysis.enabled")["source"], "default")

        self.alisio("trust", "--yes")
        self.assertEqual(self.value("analysis.enabled")["source"], "project")
        self.assertIs(self.value("analysis.enabled")["value"], False)
        self.write("init.lua", "-- other\n")
        self.assertEqual(self.value("analysis.enabled")["source"], "default")
        self.assertEqual(self.json("trust", "--show")["status"], "changed")
        self.assertIn("changed since it was trusted", self.alisio("run", "hello").stderr)
        self.alisio("trust", "--yes")
        self.alisio("trust", "--revoke")
        self.assertEqual(self.json("trust", "--show")["status"], "untrusted")

    def test_nothing_to_trust(self):
        shutil.rmtree(os.path.join(self.dir, ".alisio"))
        self.assertEqual(self.json("trust")["status"], "none")


class Configuration(Case):
    def config(self, text):
        os.makedirs(self.env["ALISIO_CONFIG_HOME"], exist_ok=True)
        with open(os.path.join(self.env["ALISIO_CONFIG_HOME"], "config.json"), "w", encoding="utf-8") as f:
            f.write(text)

    def test_setup_writes_once(self):
        written = self.json("setup")["written"]
        self.assertEqual([os.path.basename(p) for p in written], ["config.json", "init.lua"])
        for path in written:
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.config('{"model": "offline"}')
        self.assertEqual(self.json("setup"), {"written": [], "kept": written})
        with open(written[0], encoding="utf-8") as f:
            self.assertEqual(f.read(), '{"model": "offline"}')
        self.alisio("run", "hello")  # the init.lua it wrote loads

    def test_setup_in_spanish(self):
        path = self.json("setup", LC_ALL="es_ES.UTF-8")["written"][1]
        with open(path, encoding="utf-8") as f:
            self.assertIn("Alisio lee este archivo", f.read())

    def test_help_in_spanish_names_values_in_spanish(self):
        for command in (["run"], ["data", "inspect"], ["sessions", "export"], ["doctor"]):
            shown = self.alisio(*command, "--help", LC_ALL="es_ES.UTF-8").stdout
            self.assertIn("--cwd CARPETA", shown)
            self.assertNotRegex(shown, "FOLDER|FILE|NAME|PATH|KIND")
        self.assertIn("NOMBRE", self.alisio("run", "x", "--model", status=2, LC_ALL="es_ES.UTF-8").stderr)

    def test_mistakes_say_where(self):
        self.config('{\n  "analysis": { "limitz": {} }\n}')
        for command in (["run", "hello"], ["doctor", "--config"]):
            failed = self.json(*command, status=1)["error"]
            self.assertEqual((failed["code"], failed["line"], failed["column"]), ("config_invalid", 2, 17))
            self.assertIn("the nearest is analysis.limits", failed["message"])
        self.config('{"model": }')
        self.assertIn("line 1, column 11", self.alisio("run", "hello", status=1).stderr)

    def test_origins(self):
        self.config('{"analysis": {"limits": {"maxFiles": 9}}}')
        values = {e["key"]: e for e in self.json("doctor", "--config", ALISIO_LOG_LEVEL="debug")["config"]}
        self.assertEqual((values["analysis.limits.maxFiles"]["value"], values["analysis.limits.maxFiles"]["source"]), (9, "config"))
        self.assertEqual(values["log.level"]["where"], "ALISIO_LOG_LEVEL")
        self.assertEqual(values["model"]["source"], "default")

    def test_doctor(self):
        checks = {c["id"]: c for c in self.json("doctor")["checks"]}
        for name in ("version", "system", "config", "model", "python", "state", "engine", "landlock", "seccomp", "namespaces", "containers"):
            self.assertIn(checks[name]["status"], ("ok", "warn"), checks[name])
        self.assertIn("offline", checks["model"]["value"])
        self.config('{"model": "work", "models": {"work": {"keyEnv": "NO_SUCH_KEY"}}}')
        model = {c["id"]: c for c in self.json("doctor", status=1)["checks"]}["model"]
        self.assertEqual(model["status"], "fail")
        self.assertIn("NO_SUCH_KEY", model["hint"])
        self.assertIn("NO_SUCH_KEY", self.alisio("doctor", status=1).stdout)

    def lua(self, text):
        os.makedirs(self.env["ALISIO_CONFIG_HOME"], exist_ok=True)
        with open(os.path.join(self.env["ALISIO_CONFIG_HOME"], "init.lua"), "w", encoding="utf-8") as f:
            f.write(text)

    def test_doctor_reads_init_lua(self):
        self.lua('local alisio = require "alisio"\nalisio.setup { model = "own", log = { level = "warn" } }\n'
                 'alisio.model { name = "own", stream = function() end }\n')
        checks = {c["id"]: c for c in self.json("doctor")["checks"]}
        self.assertIn("init.lua", checks["config"]["value"])
        self.assertEqual((checks["model"]["status"], checks["model"]["value"]), ("ok", "own: Lua"))
        values = {e["key"]: e for e in self.json("doctor", "--config")["config"]}
        self.assertEqual((values["log.level"]["value"], values["log.level"]["source"]), ("warn", "init"))
        self.assertTrue(values["log.level"]["where"].endswith("init.lua:2"), values["log.level"])
        self.assertIn("offline", {c["id"]: c for c in self.json("--clean", "doctor")["checks"]}["model"]["value"])

    def test_doctor_says_where_init_lua_is_wrong(self):
        self.lua("\nlocal x = = 1\n")
        checks = {c["id"]: c for c in self.json("doctor", status=1)["checks"]}
        self.assertEqual(checks["config"]["status"], "fail")
        self.assertIn("init.lua:2:", checks["config"]["hint"])
        self.assertEqual(checks["engine"]["status"], "ok")
        self.assertIn("init.lua:2:", self.alisio("doctor", "--config", status=1).stderr)


class FullDisk(Case):
    """The state folder on a file system of 1 MiB that a filler leaves little of."""

    def setUp(self):
        super().setUp()
        self.disk = tempfile.mkdtemp(prefix="disk-")
        self.addCleanup(os.rmdir, self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", self.disk], capture_output=True)
        if mounted.returncode != 0:
            raise unittest.SkipTest("mounting a small file system needs root: " + mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.env["ALISIO_STATE_HOME"] = os.path.join(self.disk, "state")
        shutil.copy(SAMPLE, self.dir)

    def test_says_so_and_loses_nothing(self):
        session = self.events("hello")[-1]["session"]
        stored = self.json("sessions", "show", session)["events"]
        filler = os.path.join(self.disk, "filler")
        failures = 0
        for left in (0, 4, 12, 20, 40, 80, 160, 320):
            space = os.statvfs(self.disk)
            with open(filler, "wb") as f:
                f.write(b"x" * max(0, space.f_bavail * space.f_frsize - left * 1024))
            done = self.alisio("run", "--json", "Describe sales.csv", "--session", session, status=None)
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            os.remove(filler)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            last = lines[-1] if lines else {}
            if done.returncode == 1:
                failures += 1
                error = last.get("error") or {}
                self.assertEqual(error.get("code"), "no_space", f"{left} KiB left: {done.stdout[-400:]} {done.stderr}")
            now = self.json("sessions", "show", session)["events"]
            self.assertEqual(now[:len(stored)], stored)
            for event in lines:
                if "seq" in event:
                    self.assertEqual(now[event["seq"] - 1], event)
            stored = now
        self.assertGreater(failures, 0)
        self.assertEqual(self.events("hello", "--session", session)[-1]["status"], "completed")


main()
