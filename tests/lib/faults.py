"""Starts tests/e2e/fault_server.py for a test in Python.

    server = faults.Server()          # self.addCleanup(server.close)
    server.script([{"file": "tests/data/openai/text.sse", "cut": 1}])
    server.url, server.log()
"""
import json
import os
import subprocess
import sys
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Server:
    def __init__(self, *options):
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(ROOT, "tests/e2e/fault_server.py"), *options],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.url = f"{'https' if options else 'http'}://127.0.0.1:{self.port}"

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url + path, data, timeout=10) as answer:
            return json.loads(answer.read())

    def script(self, replies=(), **options):
        self.ask("/_script", dict(options, replies=list(replies)))

    def log(self):
        return self.ask("/_log")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
