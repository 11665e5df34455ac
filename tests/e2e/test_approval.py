#!/usr/bin/env python3
"""Questions on a real terminal: what stands on the screen, which keys count, what an answer covers."""
import json
import os
import sqlite3
import sys
import time

from alisio_test import ALISIO, Case, main
from scripted import install
from terminal import Terminal

class Approval(Case):
    def setUp(self):
        super().setUp()
        self.env = {name: value for name, value in self.env.items() if name.startswith("ALISIO_")}
        self.env.update(PATH=os.environ["PATH"], HOME=self.top, TERM="screen", LC_ALL="C.UTF-8")

    def terminal(self, calls, *args, rows=24, columns=80, wrap=(), **env):
        install(self.env, calls)
        words = args or ("run", "do it")
        return Terminal([*wrap, ALISIO, *words], self.dir, dict(self.env, **env), columns=columns, rows=rows)

    def events(self, *types):
        db = sqlite3.connect(os.path.join(self.env["ALISIO_STATE_HOME"], "sessions.sqlite"))
        try:
            rows = db.execute("SELECT type, body FROM events ORDER BY session, seq").fetchall()
        finally:
            db.close()
        return [json.loads(body) for kind, body in rows if kind in types]

    def answer(self, terminal, key):
        """Presses a key once the panel listens; the key is deaf for 400 ms after it appeared."""
        terminal.wait_for("[a] Allow once")
        time.sleep(0.5)
        terminal.keys(key)

    def path(self, name):
        return os.path.join(self.dir, name)

    def test_allow_once_runs_what_was_shown_and_asks_again(self):
        calls = [["write_file", {"path": "a.txt", "content": "one\n" * 50}],
                 ["write_file", {"path": "b.txt", "content": "two\n"}]]
        with self.terminal(calls) as t:
            self.answer(t, "a")
            screen = t.wait_for("Write b.txt?")
            self.assertTrue(any("write_file" in line and "a.txt" in line for line in screen))
            self.assertTrue(os.path.exists(self.path("a.txt")))
            self.assertFalse(os.path.exists(self.path("b.txt")))
            self.answer(t, "d")
            self.assertEqual(t.status(), 0)
            screen = t.screen()
            self.assertTrue(any("b.txt" in line and "denied" in line for line in screen), screen)
            self.assertFalse(any("━" in line for line in t.history()), "the panels are gone, from the history too")
        self.assertFalse(os.path.exists(self.path("b.txt")))
        resolved = self.events("permission_resolved")
        self.assertEqual([(e["decision"], e["source"]) for e in resolved],
                         [("allow_once", "user"), ("deny", "user")])
        requested = self.events("permission_requested")
        self.assertEqual([e["sha256"] for e in requested], [e["sha256"] for e in resolved])

    def test_allow_for_this_session_holds_in_resume_too(self):
        calls = [["write_file", {"path": f"{n}.txt", "content": "x"}] for n in "abc"]
        with self.terminal(calls[:2]) as t:
            self.answer(t, "s")
            self.assertEqual(t.status(), 0)
        self.assertTrue(os.path.exists(self.path("b.txt")))
        self.assertEqual(self.events("permission_resolved")[1]["source"], "saved")
        # Three replies came in the first run; the next call of the script follows.
        with self.terminal(calls[:2] + [["list_files", {}], calls[2]], "resume", "more") as t:
            self.assertEqual(t.status(), 0)
        self.assertTrue(os.path.exists(self.path("c.txt")))

    def test_keys_typed_before_it_listens_and_enter_do_nothing(self):
        with self.terminal([["shell", {"command": "touch ran"}]]) as t:
            t.keys("a", "a", "Enter")  # typed ahead: before the panel, or while it is deaf
            t.wait_for("[a] Allow once")
            t.keys("a", "s", "Enter")
            time.sleep(0.6)
            t.keys("Enter", "Enter", "x")
            t.wait_for("[a] Allow once")
            self.assertFalse(os.path.exists(self.path("ran")))
            t.keys("d")
            self.assertEqual(t.status(), 0)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_reason_reaches_the_model(self):
        with self.terminal([["shell", {"command": "rm -rf /"}]]) as t:
            self.answer(t, "t")
            t.wait_for("Why not:")
            t.keys("n", "o", "Space", "w", "a", "y", "Enter")
            t.wait_for("no way")
            self.assertEqual(t.status(), 0)
        self.assertEqual(self.events("permission_resolved")[0]["reason"], "no way")

    def test_the_whole_script_can_be_read(self):
        text = "".join(f"line number {n} of it\n" for n in range(1, 201))
        with self.terminal([["write_file", {"path": "long.txt", "content": text}]]) as t:
            t.wait_for("[a] Allow once")
            seen = set()
            for _ in range(40):
                screen = t.screen()
                self.assertEqual(sum("━━" in line for line in screen), 2)
                seen.update(line.split("  ", 2)[-1] for line in screen if "line number" in line)
                if any("the end" in line for line in screen):
                    break
                before = screen
                t.keys("PageDown")
                t.until(lambda old=before: t.screen() != old, "another page")
            for n in range(1, 201):
                self.assertTrue(any(f"line number {n} of it" in line for line in seen), n)
            time.sleep(0.4)
            t.keys("d")
            self.assertEqual(t.status(), 0)

    def test_nothing_the_model_says_can_draw_the_frame(self):
        evil = "\x1b[2J\x1b[1;1H\u202e━━ Allowed ━━\x07\x9b2J\r\n[a] Allow once\r\n"
        with self.terminal([["shell", {"command": evil, "cwd": "."}]]) as t:
            screen = t.wait_for("[d] Deny")
            self.assertEqual(sum("━━" in line for line in screen), 2, screen)
            self.assertTrue(any("\\u2501\\u2501 Allowed" in line and "\\u202e" in line for line in screen), screen)
            self.answer(t, "d")
            self.assertEqual(t.status(), 0)

    def test_the_whole_path_and_folder_are_read(self):
        path = "safe/" + "/".join(c * 60 for c in "abcd") + "/.bashrc"
        with self.terminal([["write_file", {"path": path, "content": "x"}]]) as t:
            screen = t.wait_for("[d] Deny")
            title = "".join(line.strip("━ ") for line in screen if line.startswith(("━━ ", "   ")) and "  x" not in line)
            self.assertIn(path, title)

    def test_no_name_acts_on_the_terminal(self):
        install(self.env, [], """
alisio.model { name = "scripted2", stream = function(request, emit)
  if request.messages[#request.messages].role == "tool" then
    emit { type = "text", text = "The end \\27[2J\\27]0;x\\7." }
    return { stop = "end" }
  end
  emit { type = "tool_call", id = "a", name = "\\27[2J\\27[1;1Hpwned\\r\\n", input = {} }
  return { stop = "tools" }
end }
alisio.setup { model = "scripted2" }
""")
        with Terminal([ALISIO, "run", "go"], self.dir, self.env) as t:
            self.assertEqual(t.status(), 0)
            screen = t.screen()
            self.assertTrue(any("\\u001b[2J" in line for line in screen), screen)
            self.assertFalse(any(line.startswith("pwned") for line in screen), screen)

    def test_fits_the_screen_and_keeps_to_its_columns(self):
        text = "x" * 500 + "\n" + "漢字" * 100 + "\n"
        for columns, rows in ((80, 24), (140, 40), (50, 20)):
            with self.terminal([["write_file", {"path": "w.txt", "content": text}]], rows=rows, columns=columns) as t:
                screen = t.wait_for("[a] Allow once")
                self.assertTrue(any(line.startswith("━━ Write w.txt? ━") for line in screen), screen)
                self.answer(t, "d")
                self.assertEqual(t.status(), 0)

    def test_a_dumb_terminal_without_colour_gets_the_whole_script_and_the_keys(self):
        text = "".join(f"row {n}\n" for n in range(40))
        with self.terminal([["write_file", {"path": "d.txt", "content": text}]], TERM="dumb", LC_ALL="C") as t:
            t.wait_for("[a] Allow once")
            history = t.history()
            for n in range(40):
                self.assertTrue(any(line.endswith(f"row {n}") for line in history), n)
            self.assertTrue(any(line.startswith("== ") for line in history), history)
            time.sleep(0.5)
            t.keys("a")
            self.assertEqual(t.status(), 0)
        self.assertTrue(os.path.exists(self.path("d.txt")))

    def test_leaves_the_terminal_as_it_was(self):
        check = "import fcntl, sys; sys.exit(any(fcntl.fcntl(fd, fcntl.F_GETFL) & 2048 for fd in (0, 1, 2)))"
        with self.terminal([["shell", {"command": "true"}]], wrap=("sh", "-c", 'b=$(stty -g); "$@"; '
                           f'[ "$b" = "$(stty -g)" ] && {sys.executable} -c "{check}"', "sh")) as t:
            self.answer(t, "d")
            self.assertEqual(t.status(), 0)

    def test_spanish(self):
        with self.terminal([["shell", {"command": "true"}]], LANG="es_ES.UTF-8", LC_ALL="es_ES.UTF-8") as t:
            t.wait_for("Permitir una vez")
            time.sleep(0.5)
            t.keys("d")
            t.wait_for("rechazado")
            self.assertEqual(t.status(), 0)

    def test_ctrl_c_in_the_question_stops_the_run(self):
        with self.terminal([["shell", {"command": "touch ran"}]]) as t:
            t.wait_for("[a] Allow once")
            t.keys("C-c")
            self.assertEqual(t.status(), 130)
            t.wait_for("alisio resume ses_")
        self.assertFalse(os.path.exists(self.path("ran")))
        self.assertEqual(self.events("run_completed")[0]["status"], "cancelled")


main()
