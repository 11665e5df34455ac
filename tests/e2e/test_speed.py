#!/usr/bin/env python3
"""What `make bench` measures with is what it says, and the program comes before its peer: here only the
order counts, and ten times what is promised."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from alisio_test import ALISIO, ROOT, Case, main

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import generate


class Files(unittest.TestCase):
    def test_the_same_bytes_everywhere(self):
        for kind, rows, digest in (
                ("sales.csv", 1000, "4c86ff2b4603d84d5ba841850c50e438cdd0d3708383a88424752ff6b11f6527"),
                ("sales.jsonl", 1000, "644ad35d2607f28c357244fb64dfbcf3be5b68f4b4143cd107b655eb2ebeed6c"),
                ("numeric.csv", 200, "911e15fd8c7653ea96a5f2fbc3220fc14c16890d1341b9427dcac4e0c8a315a8"),
                ("wide.csv", 50, "9decdd08133b4413343b01bf774369454579b1bed024d7619adba110f0b7bef4")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, kind)
                generate.make(kind, rows, path)
                with open(path, "rb") as f:
                    self.assertEqual(hashlib.sha256(f.read()).hexdigest(), digest, kind)
                self.assertEqual(os.listdir(folder), [kind])


class Order(Case):
    LEAST = 5  # times as fast as .import, on a million rows

    def seconds(self, argv, clean):
        """Processor time, which other work on the machine does not change much; the best of three."""
        took = []
        for _ in range(3):
            clean()
            before = os.times()
            subprocess.run(argv, cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
            after = os.times()
            took.append(after.children_user + after.children_system - before.children_user - before.children_system)
        return min(took)

    @unittest.skipIf(os.environ.get("SAN"), "sanitizers take their time")
    def test_a_file_is_read_before_the_sqlite3_shell_has_it(self):
        generate.make("sales.csv", 150000, os.path.join(self.dir, "sales.csv"))
        ours = self.seconds([ALISIO, "data", "inspect", "sales.csv", "--json"],
                            lambda: shutil.rmtree(self.env["ALISIO_STATE_HOME"], ignore_errors=True))
        peer = os.path.join(self.dir, "peer.sqlite")
        theirs = self.seconds(["sqlite3", "-csv", peer, "PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", ".import sales.csv data"],
                              lambda: os.path.exists(peer) and os.unlink(peer))
        self.assertLess(ours, theirs)
        self.assertLess(ours, 10 * theirs / self.LEAST)


main()
