"""A real terminal for tests: the program runs in tmux, a test types and reads the screen's cells."""
import os
import shlex
import shutil
import subprocess
import tempfile
import time


class Terminal:
    """`with Terminal(argv, cwd, env) as t:` then `t.wait_for(text)`, `t.keys(...)`, `t.screen()`.

    Nothing is slept for: every wait looks at the screen until a deadline."""

    def __init__(self, argv, cwd, env, columns=80, rows=24, deadline=20):
        self.deadline = deadline
        self.folder = tempfile.mkdtemp(prefix="term-")
        self.socket = os.path.join(self.folder, "s")
        settings = ["env", "-i"] + [f"{name}={value}" for name, value in env.items()]
        command = " ".join(shlex.quote(word) for word in settings + list(argv))
        # The status is written where no screen line can be mistaken for it.
        # Ctrl-C is for the program; this shell outlives it.
        script = f"trap : INT; {command}; echo $? > {shlex.quote(os.path.join(self.folder, 'status'))}; exec cat"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", cwd,
                   "sh", "-c", script)

    def _tmux(self, *words):
        # The test's own terminal settings must not leak into this server.
        env = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
        env["LC_ALL"] = "C.UTF-8"
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, env=env, capture_output=True,
                              encoding="utf-8").stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def screen(self):
        """The lines on the screen, without spaces at their ends."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").split("\n")]

    def coloured(self):
        """The screen with its colours, as escape sequences."""
        return self._tmux("capture-pane", "-p", "-e")

    def history(self):
        """All lines, also those that scrolled away."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p", "-S", "-", "-E", "-").split("\n")]

    def keys(self, *names):
        """Types keys by their tmux names: "a", "Enter", "C-c", "PageDown"."""
        self._tmux("send-keys", *names)

    def resize(self, columns, rows):
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def until(self, condition, what):
        """Waits until condition() is true."""
        end = time.monotonic() + self.deadline
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"never saw {what}; the screen:\n" + "\n".join(self.screen()))
            time.sleep(0.02)

    def wait_for(self, text):
        """Waits until the text stands on the screen; gives the screen."""
        def look():
            lines = self.screen()
            return lines if any(text in line for line in lines) else None
        return self.until(look, repr(text))

    def status(self):
        """Waits for the end of the program; its exit status."""
        path = os.path.join(self.folder, "status")

        def look():
            try:
                with open(path, encoding="ascii") as file:
                    return file.read().strip() or None
            except FileNotFoundError:
                return None
        return int(self.until(look, "the end of the program"))
