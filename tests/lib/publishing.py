"""For tests of `alisio artifact publish`: an output folder, and what the store says and holds."""
import glob
import hashlib
import json
import os
import re

from alisio_test import Case

FILES = {"a.md": "# a\n" * 3000, "site/index.html": "<p>x", "site/js/b.js": "1\n" * 3000, "parts/x.csv": "a\n1\n"}
COUNT = 3  # artifacts they make


class Publishing(Case):
    def setUp(self):
        super().setUp()
        self.state = self.env["ALISIO_STATE_HOME"]
        self.empty = os.path.join(self.top, "empty")
        os.mkdir(self.empty)
        for name, text in FILES.items():
            self.put("out/" + name, text)

    def put(self, name, text=""):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        return path

    def publish(self, folder="out", **options):
        return self.json("artifact", "publish", folder, **options)

    def refused(self, folder="out"):
        """The error of a publication, which left nothing."""
        before = self.stored()
        error = self.publish(folder, status=1)["error"]
        self.assertEqual(error["code"], "artifact_rejected", error)
        self.assertEqual(self.stored(), before)
        return error

    def stored(self):
        """Every folder of the store, and what is not over."""
        top = os.path.join(self.state, "artifacts")
        return sorted(glob.glob(top + "/*/*/*") + glob.glob(top + "/*/*/.*") + glob.glob(top + "/.*"))

    def listed(self):
        """What the list says is there is there, whole."""
        arts = self.json("artifact", "list")["artifacts"]
        for art in arts:
            if os.path.isfile(art["path"]):
                with open(art["path"], "rb") as f:
                    self.assertEqual(hashlib.sha256(f.read()).hexdigest(), art["sha256"])
            else:
                self.assertTrue(os.path.isfile(os.path.join(art["path"], art["entry"])))
            with open(os.path.join(re.match(r".*--art_\w+", art["path"])[0], "manifest.json"), encoding="utf-8") as f:
                self.assertEqual(json.load(f)["sha256"], art["sha256"])
        return arts

    def check(self, before):
        """All or nothing came of one publication, and the next start, in another folder, leaves no rest of it. Returns
        how many artifacts there are."""
        self.json("--cwd", self.top, "artifact", "publish", self.empty)
        arts = self.listed()
        self.assertIn(len(arts), (before, before + COUNT))
        self.assertEqual(self.stored(), sorted(re.match(r".*--art_\w+", art["path"])[0] for art in arts))
        return len(arts)
