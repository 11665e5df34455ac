#!/usr/bin/env python3
"""`alisio run` and `alisio resume` as scripts and people meet them: outputs, statuses, signals."""
import json
import os
import signal
import sqlite3
import subprocess
import time

from alisio_test import ALISIO, Case, main
from scripted import install
from terminal import Terminal


def alive(mark):
    """Processes whose command line holds the mark."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read()
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if mark.encode() in words and state != "Z":
            found.append(int(pid))
    return found


class Run(Case):
    def until(self, condition, what, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, f"never came: {what}")
            time.sleep(0.01)

    def start(self, *args, **options):
        return subprocess.Popen([ALISIO, *args], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **options)

    def stored(self):
        db = sqlite3.connect(os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite"))
        try:
            rows = db.execute("SELECT type, body FROM events ORDER BY session, seq").fetchall()
        finally:
            db.close()
        return [dict(json.loads(body), type=kind) for kind, body in rows]

    def test_answer_on_stdout_and_steps_on_stderr(self):
        install(self.env, [["list_files", {}]])
        done = self.alisio("run", "go")
        self.assertEqual(done.stdout, "The end: nothing there\n")
        self.assertIn("list_files", done.stderr)
        last = done.stderr.rstrip().splitlines()[-1]
        self.assertIn("write_file", last, "the last line says what was not offered")
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        done = self.alisio("run", "go", "--quiet")
        self.assertEqual((done.stdout, done.stderr), ("The end: nothing there\n", ""))

    def test_json_is_one_event_a_line_by_the_contract(self):
        install(self.env, [[["list_files", {}], ["nope", {}]]])
        events = self.events("go")
        self.assertEqual(events[0]["type"], "session_opened")
        self.assertEqual(events[1]["type"], "run_started")
        self.assertEqual(events[-1]["type"], "run_completed")
        self.assertEqual([e["seq"] for e in events if "seq" in e],
                         list(range(1, 1 + sum("seq" in e for e in events))))
        for event in events:
            self.assertEqual(event["v"], 1)
            self.assertTrue(event["session"].startswith("ses_") and event["run"].startswith("run_"))
            self.assertIsInstance(event["time"], int)
            self.assertEqual("seq" in event, event["type"] not in ("message_delta", "tool_progress"))
        done = [e for e in events if e["type"] == "tool_completed"]
        self.assertEqual({e["status"] for e in done}, {"ok", "error"})
        self.assertTrue(all(isinstance(e["output"], list) for e in done))

    def test_a_prompt_is_words_or_standard_input(self):
        install(self.env, [])
        self.assertEqual(self.alisio("run", "two", "words").stdout, "The end: two words\n")
        self.assertEqual(self.alisio("run", "-", stdin="from a pipe\n").stdout, "The end: from a pipe\n")
        self.assertEqual(self.alisio("run", "--", "--json").stdout, "The end: --json\n")
        error = json.loads(self.alisio("run", "--json", status=2).stdout)["error"]
        self.assertEqual(error["code"], "usage")

    def test_flags_cover_what_they_name(self):
        calls = [[["write_file", {"path": "w", "content": "x"}], ["shell", {"command": "echo ran > s"}]]]
        install(self.env, calls)
        events = self.events("go", "--allow-write")
        self.assertEqual({e["name"]: e["status"] for e in events if e["type"] == "tool_completed"},
                         {"write_file": "ok", "shell": "error"})
        self.assertEqual([(e["decision"], e["source"]) for e in events if e["type"] == "permission_resolved"],
                         [("allow_once", "flag")])
        self.assertEqual(events[-1]["notOffered"],
                         sorted(set(events[-1]["notOffered"]) & {"shell", "run_process", "python_run"}))
        self.assertIn("shell", events[-1]["notOffered"])
        os.remove(os.path.join(self.dir, "w"))
        events = self.events("go", "--read-only", "--allow-write", "--allow-process")
        self.assertNotIn("notOffered", events[-1])
        self.assertFalse(os.path.exists(os.path.join(self.dir, "w")))
        self.assertFalse(os.path.exists(os.path.join(self.dir, "s")))

    def test_a_signal_stops_the_run_and_all_it_started(self):
        install(self.env, [["shell", {"command": "sleep 987654 & sleep 987655"}]])
        for number in (signal.SIGINT, signal.SIGTERM):
            run = self.start("run", "go", "--allow-process", "--json")
            self.until(lambda: len(alive("sleep 98765")) >= 3 or alive("987655"), "the tool's processes")
            asked = time.monotonic()
            run.send_signal(number)
            out, _ = run.communicate(timeout=10)
            self.assertLess(time.monotonic() - asked, 1.0)
            self.assertEqual(run.returncode, 130)
            events = [json.loads(line) for line in out.splitlines()]
            self.assertEqual(events[-1]["status"], "cancelled")
            self.assertEqual([e["status"] for e in events if e["type"] == "tool_completed"], ["cancelled"])
            self.until(lambda: not alive("98765"), "the end of its processes")

    def test_a_second_ctrl_c_ends_at_once(self):
        install(self.env, [["stubborn", {}]], """
alisio.tool { name = "stubborn", description = "d", effect = "read", run = function()
  local _ <close> = setmetatable({}, { __close = function()
    io.stderr:write("closing\\n")
    task.sleep(900)
  end })
  io.stderr:write("running\\n")
  task.sleep(100000)
end }
""")
        run = self.start("run", "go")
        for line in run.stderr:
            if "running" in line:
                break
        run.send_signal(signal.SIGINT)
        for line in run.stderr:
            if "closing" in line:
                break
        asked = time.monotonic()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=10)
        self.assertLess(time.monotonic() - asked, 0.5)
        self.assertEqual(run.returncode, 130)
        # What was stored is whole, and the session opens again.
        self.assertEqual(self.stored()[-1]["type"], "tool_started")
        events = [json.loads(line) for line in self.alisio("resume", "--json").stdout.splitlines()]
        self.assertEqual(events[-1]["status"], "completed")
        self.assertEqual([e["status"] for e in self.stored() if e["type"] == "tool_completed"], ["uncertain"])

    def test_a_second_ctrl_c_ends_lua_that_runs_on_and_on(self):
        install(self.env, [["endless", {}]], """
alisio.tool { name = "endless", description = "d", effect = "read", run = function()
  io.stderr:write("running\\n")
  while true do end
end }
""")
        run = self.start("run", "go")
        for line in run.stderr:
            if "running" in line:
                break
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=10)
        self.assertEqual(run.returncode, 130)

    def test_closed_and_full_outputs(self):
        def sh(redirection, *args):
            words = " ".join([ALISIO, *args, redirection])
            return subprocess.run(["sh", "-c", words], cwd=self.dir, env=self.env, capture_output=True,
                                  encoding="utf-8", timeout=60)
        for closed, status in (("<&-", 0), ("2>&-", 0), (">&-", 1), ("<&- >&- 2>&-", 1)):
            self.assertEqual(sh(closed, "run", "hello").returncode, status, closed)
        for args in (("run", "hello"), ("run", "hello", "--json"), ("sessions", "list"), ("--version",), ("--help",)):
            done = sh("> /dev/full", *args)
            self.assertEqual(done.returncode, 1, args)
            self.assertIn("standard output", done.stderr)

    def test_a_working_folder_that_is_gone(self):
        os.mkdir(os.path.join(self.dir, "gone"))
        for args, status in ((["run", "hello"], 1), (["script", "x.lua"], 1), (["--cwd", self.dir, "run", "hello"], 0)):
            done = subprocess.run(["sh", "-c", 'mkdir -p gone && cd gone && rmdir ../gone && exec "$0" "$@"', ALISIO, *args],
                                  cwd=self.dir, env=self.env, capture_output=True, encoding="utf-8", timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertNotIn("traceback", done.stderr)
            if status:
                self.assertIn("working folder", done.stderr)

    def test_a_home_that_is_none_puts_nothing_into_the_folder(self):
        for home in ("", "relative"):
            env = {"HOME": home, "PATH": os.environ["PATH"]}
            subprocess.run([ALISIO, "run", "hello"], cwd=self.dir, env=env, capture_output=True, check=False, timeout=60)
            self.assertEqual(os.listdir(self.dir), [])

    def test_what_was_streamed_before_a_cancel_is_kept(self):
        install(self.env, [{"text": ["First words. ", "Second words. "] + ["."] * 1000, "pause": 50}])
        run = self.start("run", "go", "--json")
        lines = []
        for line in run.stdout:
            lines.append(json.loads(line))
            if "Second words" in line:
                break
        run.send_signal(signal.SIGINT)
        rest, _ = run.communicate(timeout=10)
        lines += [json.loads(line) for line in rest.splitlines()]
        whole = [e["text"] for e in lines if e["type"] == "message_completed"]
        self.assertEqual(len(whole), 1)
        self.assertTrue(whole[0].startswith("First words. Second words. "))
        self.assertEqual("".join(e["text"] for e in lines if e["type"] == "message_delta"), whole[0])

    def test_resume_goes_on_with_the_last_session_or_says_that_it_is_complete(self):
        install(self.env, [])
        error = json.loads(self.alisio("resume", "--json", status=1).stdout)["error"]
        self.assertEqual(error["code"], "not_found")
        first = self.events("one")
        done = self.alisio("resume")
        self.assertIn("The end: one", done.stdout)
        self.assertIn("complete", done.stderr)
        out = self.alisio("resume", "two", "--json").stdout
        again = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(again[0]["session"], first[0]["session"])
        self.assertTrue(again[0]["resumed"])
        elsewhere = self.alisio("resume", first[0]["session"], "three", "--json", "--cwd", self.top).stdout
        self.assertEqual(json.loads(elsewhere.splitlines()[0])["session"], first[0]["session"])
        self.assertEqual(json.loads(self.alisio("resume", "ses_nope", "--json", status=1).stdout)["error"]["code"],
                         "not_found")

    def test_two_processes_on_one_session_the_second_is_told_who_holds_it(self):
        install(self.env, [["shell", {"command": "sleep 876543"}]])
        run = self.start("run", "go", "--allow-process")
        try:
            self.until(lambda: alive("sleep 876543"), "the tool")
            second = self.alisio("resume", "more", "--json", status=1)
            error = json.loads(second.stdout)["error"]
            self.assertEqual(error["code"], "session_locked")
            self.assertIn(str(run.pid), error["message"])
        finally:
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=10)

    def test_bad_configuration_names_file_line_and_nearest(self):
        config = self.env["ALISIO_CONFIG_HOME"]
        os.makedirs(config)
        with open(os.path.join(config, "config.json"), "w", encoding="utf-8") as file:
            file.write('{\n  "modle": "x"\n}\n')
        error = json.loads(self.alisio("run", "hi", "--json", status=1).stdout)["error"]
        self.assertEqual(error["code"], "config_invalid")
        self.assertRegex(error["message"], r"config\.json.*line 2.*model")
        os.remove(os.path.join(config, "config.json"))
        install(self.env, [], "\nerror 'broken here'\n")
        error = json.loads(self.alisio("run", "hi", "--json", status=1).stdout)["error"]
        self.assertEqual(error["code"], "config_invalid")
        self.assertRegex(error["message"], r"init\.lua:\d+: broken here")
        self.alisio("run", "hi", "--clean", "--model", "offline")

    def test_an_unknown_model_names_the_nearest(self):
        error = json.loads(self.alisio("run", "hi", "--model", "ofline", "--json", status=1).stdout)["error"]
        self.assertEqual(self.json("sessions", "list")["sessions"], [], "nothing was said, so nothing is kept")
        self.assertEqual(error["code"], "not_found")
        self.assertIn("offline", error["message"])

    def test_ctrl_c_on_a_terminal(self):
        install(self.env, [["shell", {"command": "sleep 765432"}]])
        env = {name: value for name, value in self.env.items() if name.startswith("ALISIO_")}
        env.update(PATH=os.environ["PATH"], HOME=self.top, TERM="screen", LC_ALL="C.UTF-8")
        with Terminal([ALISIO, "run", "go", "--allow-process"], self.dir, env) as t:
            self.until(lambda: alive("sleep 765432"), "the tool")
            t.wait_for("shell")
            t.keys("C-c")
            self.assertEqual(t.status(), 130)
            screen = t.wait_for("goes on from here")
            self.assertTrue(any("✗ shell" in line and "stopped" in line for line in screen), screen)
        self.until(lambda: not alive("765432"), "the end of its processes")


main()
