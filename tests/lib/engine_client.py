"""Speaks the engine's frames directly, as the host does: a process, a socket, descriptors."""
import array
import json
import os
import socket
import struct
import subprocess
import tempfile

REQUEST, PROGRESS, ROWS, RESULT, ERROR, CANCEL = 1, 2, 3, 4, 5, 6
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENGINE = os.path.join(ROOT, os.environ.get("B") or "build", "libexec", "alisio", "engine")


class Refused(Exception):
    """An error frame; `.error` is its body."""

    def __init__(self, error):
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.error, self.code = error, error.get("code")


class Gone(Exception):
    """The engine closed the stream."""


class Engine:
    path = ENGINE

    def __init__(self, tmp=None, before=None):
        self.tmp = tmp or tempfile.mkdtemp(prefix="engine-tmp-")
        self.sock, theirs = socket.socketpair()
        folder = os.open(self.tmp, os.O_PATH | os.O_DIRECTORY)

        def prepare():
            # 3 and 4 may be in the way of each other
            a = os.dup2(theirs.fileno(), 60)
            b = os.dup2(folder, 61)
            os.dup2(a, 3)
            os.dup2(b, 4)
            if before:
                before()

        self.process = subprocess.Popen([ENGINE], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        close_fds=False, preexec_fn=prepare)
        theirs.close()
        os.close(folder)
        self.sock.settimeout(60)
        self.progress = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def send_bytes(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.sock.sendmsg([data], rights)
        self.sock.sendall(data[sent:])

    def send(self, kind, body=b"", fds=()):
        self.send_bytes(struct.pack("<IB", len(body), kind) + body, fds)

    def _exactly(self, n):
        data = b""
        while len(data) < n:
            part = self.sock.recv(min(n - len(data), 1 << 20))
            if not part:
                raise Gone()
            data += part
        return data

    def receive(self):
        n, kind = struct.unpack("<IB", self._exactly(5))
        assert n <= 16 << 20, n
        return kind, json.loads(self._exactly(n) or b"null")

    def request(self, op, fds=(), **fields):
        self.send(REQUEST, json.dumps({"v": 1, "op": op, **fields}).encode(), fds)

    def answer(self):
        """The result of the request; rows and kinds of a query are put into it."""
        rows, kinds, self.progress = [], [], []
        while True:
            kind, body = self.receive()
            if kind == PROGRESS:
                self.progress.append(body)
            elif kind == ROWS:
                rows += body["rows"]
                kinds += body["kinds"]
                assert len(body["rows"]) == len(body["kinds"])
            elif kind == RESULT:
                return {**body, "rows": rows, "kinds": kinds} if "columns" in body else body
            elif kind == ERROR:
                raise Refused(body)
            else:
                raise AssertionError(f"frame type {kind}")

    def call(self, op, fds=(), **fields):
        self.request(op, fds, **fields)
        return self.answer()

    def ingest(self, source, target, name=None, **fields):
        """source: a path, or the bytes of the file."""
        if isinstance(source, bytes):
            fd = os.open(os.path.dirname(os.path.abspath(target)), os.O_TMPFILE | os.O_RDWR, 0o600)
            with os.fdopen(os.dup(fd), "wb") as f:
                f.write(source)
        else:
            fd = os.open(source, os.O_RDONLY)
            name = name or os.path.basename(source)
        out = os.open(target, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            return self.call("ingest", (fd, out), name=name or "data.csv", **fields)
        finally:
            os.close(fd)
            os.close(out)

    def query(self, dataset, sql, **fields):
        fd = os.open(dataset, os.O_RDONLY)
        try:
            return self.call("query", (fd,), sql=sql, **fields)
        finally:
            os.close(fd)

    def rows(self, dataset, **fields):
        fd = os.open(dataset, os.O_RDONLY)
        try:
            return self.call("rows", (fd,), **fields)
        finally:
            os.close(fd)

    def describe(self, dataset, **fields):
        fd = os.open(dataset, os.O_RDONLY)
        try:
            return self.call("describe", (fd,), **fields)
        finally:
            os.close(fd)
