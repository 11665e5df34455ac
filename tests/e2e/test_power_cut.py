#!/usr/bin/env python3
"""The power fails while something is published, at any instant: what was said to be published is there,
whole; of what was not, all or nothing. The state lies on an ext4 file system of its own, which is shut
down without its journal being written (FS_IOC_SHUTDOWN). CUTS says how often (8; `make soak` 200), SEED
repeats a run."""
import fcntl
import json
import os
import random
import struct
import subprocess
import time

from alisio_test import ALISIO, main
from publishing import COUNT, Publishing

CUTS = int(os.environ.get("CUTS") or 8)
SEED = int(os.environ.get("SEED") or time.time())
SHUTDOWN, WITHOUT_JOURNAL = 0x8004587D, 2


class PowerCut(Publishing):
    def setUp(self):
        super().setUp()
        self.image = os.path.join(self.top, "disk.img")
        os.makedirs(self.state)
        with open(self.image, "wb") as f:
            f.truncate(64 << 20)
        made = subprocess.run(["mkfs.ext4", "-q", self.image], capture_output=True)
        mounted = made.returncode or self.mount(check=False).returncode
        if mounted:
            self.skipTest("no right to mount a file system of its own")
        self.addCleanup(subprocess.run, ["umount", self.state], stderr=subprocess.DEVNULL)
        os.chmod(self.state, 0o700)

    def mount(self, check=True):
        return subprocess.run(["mount", "-o", "loop", self.image, self.state], check=check, capture_output=True)

    def cut(self):
        fd = os.open(self.state, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("=I", WITHOUT_JOURNAL))
        finally:
            os.close(fd)

    def test_cuts_at_any_instant(self):
        start = time.monotonic()
        self.publish()
        whole, chance, acknowledged, there = time.monotonic() - start, random.Random(SEED), 0, COUNT
        for number in range(CUTS):
            with self.subTest(cut=number, seed=SEED):
                child = subprocess.Popen([ALISIO, "artifact", "publish", "out", "--json"], cwd=self.dir, env=self.env,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                time.sleep(chance.uniform(0, 1.2 * whole))
                self.cut()
                out, _ = child.communicate(timeout=60)
                said = child.returncode == 0
                acknowledged += said
                subprocess.run(["umount", self.state], check=True)
                self.mount()
                if said:
                    listed = {art["id"] for art in self.listed()}
                    self.assertLessEqual({art["id"] for art in json.loads(out)["artifacts"]}, listed)
                before, there = there, self.check(there)
                if said:
                    self.assertEqual(there, before + COUNT)
        print(f"{CUTS} cuts, {acknowledged} after all was said to be published")


main()
