#!/usr/bin/env python3
"""Output folders that are traps, and that change while they are published: each is refused with its
reason and nothing stays, or what is published is whole. RACES says how often each change is met (8)."""
import collections
import json
import os
import shutil
import threading
import time
import zipfile

from alisio_test import main
from publishing import FILES, Publishing

SECRET = b"TOP-SECRET-of-another-folder"


class Traps(Publishing):
    def test_each_says_what_it_is_and_the_next_goes_on(self):
        out = os.path.join(self.dir, "out")
        secret = self.put("secret", SECRET)

        def names(count, make):
            for i in range(count):
                make(os.path.join(out, f"n{i}"))

        def touch(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))

        def sparse(path):
            touch(path)
            os.truncate(path, 10 << 30)

        def raw(name, text="x"):
            path = os.path.join(os.fsencode(out), name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

        traps = {
            "100,000 files": (lambda: names(100000, touch), "maxFiles", "200"),
            "5,000 folders": (lambda: names(5000, os.mkdir), "maxFiles", "200"),
            "10 GB that are not there": (lambda: sparse(out + "/big"), "maxFileBytes", "big", "100 MiB"),
            "six times 100 MB": (lambda: [sparse(f"{out}/{i}") or os.truncate(f"{out}/{i}", 99 << 20) for i in range(6)],
                                 "maxOutputBytes", "500 MiB"),
            "no UTF-8": (lambda: raw(b"caf\xe9.csv"), "bad_name", "UTF-8"),
            "a space at the end": (lambda: raw(b"report.md "), "bad_name", "space at the end"),
            "a folder with a space at the end": (lambda: os.mkdir(out + "/x ") or raw(b"x /y"), "bad_name"),
            "an escape sequence": (lambda: raw(b"\x1b[2Jx"), "bad_name"),
            "half an outputs.json": (lambda: raw(b"outputs.json", '{"artifacts": [{"path": "a.md", "ti'), "bad_manifest", "line 1"),
            "an empty outputs.json": (lambda: raw(b"outputs.json", ""), "bad_manifest"),
            "an outputs.json of 2 MB": (lambda: raw(b"outputs.json", '{"artifacts": [' + " " * (2 << 20) + "]}"), "bad_manifest", "1 MiB"),
            "a deep outputs.json": (lambda: raw(b"outputs.json", "[" * 100000), "bad_manifest"),
            "an outputs.json that climbs": (lambda: raw(b"outputs.json", '{"artifacts":[{"path":"../secret"}]}'), "bad_path", "../secret"),
            "an outputs.json of /proc": (lambda: raw(b"outputs.json", '{"artifacts":[{"path":"/proc/self/environ"}]}'), "bad_path"),
            "an outputs.json that is a link": (lambda: os.symlink(secret, out + "/outputs.json"), "symlink", "outputs.json"),
            "a fifo": (lambda: os.mkfifo(out + "/pipe"), "special_file", "pipe"),
            "a fifo as index.html": (lambda: os.mkdir(out + "/s") or os.mkfifo(out + "/s/index.html"), "special_file", "s/index.html"),
            "a link": (lambda: os.symlink(secret, out + "/l"), "symlink", "l"),
            "a link to itself": (lambda: os.symlink("l", out + "/l"), "symlink"),
            "a link that leads nowhere": (lambda: os.symlink("none", out + "/l"), "symlink"),
            "a link to a folder": (lambda: os.symlink("..", out + "/l"), "symlink"),
            "a link to an open file": (lambda: os.symlink("/proc/self/fd/0", out + "/site/l"), "symlink", "site/l"),
            "another name of a file outside": (lambda: os.link(secret, out + "/site/h"), "hardlink", "site/h"),
            "two names inside": (lambda: os.link(out + "/a.md", out + "/b.md"), "hardlink"),
            "a hidden file": (lambda: raw(b".env"), "hidden", ".env"),
            "a hidden folder": (lambda: os.mkdir(out + "/site/.git") or raw(b"site/.git/config"), "hidden", "site/.git"),
            "nine levels": (lambda: os.makedirs(out + "/1/2/3/4/5/6/7/8/9"), "depth", "8"),
            "an empty folder": (lambda: os.mkdir(out + "/e"), "empty", "e"),
            "one name, twice": (lambda: raw("é".encode()) or raw("e\u0301".encode()), "name_clash"),
            "a file that is being written": (lambda: setattr(self, "held", open(out + "/log.txt", "w", encoding="utf-8")),
                                             "unreadable", "log.txt"),
        }
        for label, (make, reason, *words) in traps.items():
            shutil.rmtree(out)
            for name, text in FILES.items():
                self.put("out/" + name, text)
            with self.subTest(label):
                make()
                start = time.monotonic()
                error = self.refused()
                self.assertLess(time.monotonic() - start, 20)
                self.assertEqual(error["reason"], reason, error)
                for word in words:
                    self.assertIn(word, error["message"])
        self.held.close()
        self.put("out/outputs.json", '{"artifacts": [{}]}')
        said = self.alisio("artifact", "publish", "out", status=1, LC_ALL="es_ES.UTF-8").stderr
        self.assertIn("outputs.json: el artefacto 1 no tiene path. No se publicó nada.", said)
        shutil.rmtree(out)
        self.put("out/a.md", "# a\n")
        self.assertEqual([a["fileName"] for a in self.publish()["artifacts"]], ["a.md"])
        self.assertEqual(len(self.listed()), 1)
        for folder, _, files in os.walk(self.state):
            for name in files:
                with open(os.path.join(folder, name), "rb") as f:
                    self.assertNotIn(SECRET, f.read())


class Race(Publishing):
    ROUNDS = int(os.environ.get("RACES") or 8)

    def setUp(self):
        super().setUp()
        shutil.rmtree(os.path.join(self.dir, "out"))
        self.old, self.new = b"a\n" + b"1\n" * 100000, b"b\n" + b"2\n" * 100000
        self.out = os.path.dirname(self.put("out/f.csv", self.old))
        self.put("out/d/g.csv", self.old)
        self.put("z.csv", SECRET)
        self.put("elsewhere/g.csv", SECRET)
        self.secret = os.path.join(self.dir, "z.csv")

    def swap(self, make):
        temporary = os.path.join(self.dir, "t")
        make(temporary)
        os.replace(temporary, self.out + "/f.csv")

    def write(self, data):
        with open(self.out + "/f.csv", "wb") as f:
            f.write(data)

    def folder(self, back):
        if back:
            os.unlink(self.out + "/d")
            os.rename(self.dir + "/aside", self.out + "/d")
        else:
            os.rename(self.out + "/d", self.dir + "/aside")
            os.symlink(self.dir + "/elsewhere", self.out + "/d")

    CHANGES = {
        "a link": lambda self, i: self.swap(lambda t: os.symlink(self.secret, t) if i % 2 else shutil.copyfile(self.dir + "/old", t)),
        "another name": lambda self, i: self.swap(lambda t: os.link(self.secret, t) if i % 2 else shutil.copyfile(self.dir + "/old", t)),
        "a folder": lambda self, i: self.folder(i % 2),
        "written over": lambda self, i: self.write(self.new if i % 2 else self.old),
        "gone": lambda self, i: os.unlink(self.out + "/f.csv") if i % 2 else self.write(self.old),
    }

    def contents(self, art):
        with open(art["path"], "rb") as f:
            data = f.read()
        if art["kind"] != "archive":
            return [data]
        with zipfile.ZipFile(art["path"]) as z:
            return [z.read(name) for name in z.namelist()]

    def test_what_changes_meanwhile(self):
        self.put("old", self.old)
        for label, change in self.CHANGES.items():
            if os.path.lexists(self.out + "/f.csv"):
                os.unlink(self.out + "/f.csv")
            self.write(self.old)
            stop, changes = threading.Event(), [0]

            def run():
                while not stop.is_set() or changes[0] % 2:
                    change(self, changes[0])
                    changes[0] += 1

            thread = threading.Thread(target=run)
            thread.start()
            done = collections.Counter()
            try:
                for _ in range(self.ROUNDS):
                    answer = json.loads(self.alisio("artifact", "publish", "out", "--json", status=None).stdout)
                    if "error" in answer:
                        done[answer["error"]["reason"]] += 1
                        continue
                    done["published"] += 1
                    for art in answer["artifacts"]:
                        for data in self.contents(art):
                            self.assertIn(data, (self.old, self.new), f"{label}: {data[:40]}")
            finally:
                stop.set()
                thread.join()
            print(f"{label}: {changes[0]} changes, {dict(done)}")
            for art in self.listed():
                self.assertNotIn(SECRET, b"".join(self.contents(art)))


main()
