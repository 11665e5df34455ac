#!/usr/bin/env python3
"""std.http with what only a process of its own can have: certificates and proxies of the environment."""
import os
import shutil
import subprocess
import unittest

import faults
from alisio_test import Case, main

GET = """
local http = require "std.http"
local answer, err, _, fields = http.get(({ ... })[1], { timeoutMs = 10000 })
print(answer and answer.status .. " " .. answer.body or fields.reason .. ": " .. err)
"""


class Http(Case):
    def setUp(self):
        super().setUp()
        with open(os.path.join(self.dir, "get.lua"), "w", encoding="utf-8") as f:
            f.write(GET)

    def server(self, *options):
        server = faults.Server(*options)
        self.addCleanup(server.close)
        return server

    def get(self, url, **env):
        clean = {name: "" for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE",
                                 "CURL_CA_BUNDLE")}
        return self.alisio("script", "get.lua", url, **dict(clean, **env)).stdout.strip()

    def certificate(self, name):
        path = os.path.join(self.top, name + ".pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test",
                        "-addext", "subjectAltName=" + name, "-keyout", path + ".key", "-out", path],
                       check=True, capture_output=True)
        with open(path, "a", encoding="ascii") as both, open(path + ".key", encoding="ascii") as key:
            both.write(key.read())
        return path

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl to make a certificate with")
    def test_certificates_are_checked(self):
        mine = self.certificate("IP:127.0.0.1")
        server = self.server("--tls", mine)
        self.assertRegex(self.get(server.url), "^tls: https://127.0.0.1:")
        for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            self.assertRegex(self.get(server.url, **{variable: mine}), "^500 no script$")
        other = self.certificate("DNS:example.test")
        elsewhere = self.server("--tls", other)
        self.assertRegex(self.get(elsewhere.url, SSL_CERT_FILE=other), "^tls: ")
        self.assertRegex(self.get(elsewhere.url.replace("https", "http")), "^(aborted|protocol): ")

    def test_proxies_come_from_the_environment(self):
        proxy = self.server()
        proxy.script([{"body": "by proxy"}])
        self.assertEqual(self.get("http://nowhere.invalid/x", http_proxy=proxy.url), "200 by proxy")
        self.assertEqual(proxy.log()[0]["path"], "http://nowhere.invalid/x")
        self.assertRegex(self.get("http://nowhere.invalid/", http_proxy=proxy.url, no_proxy=".invalid"), "^resolve: ")

    def test_a_missing_libcurl_is_named(self):
        hidden = os.path.join(self.top, "lib")
        os.mkdir(hidden)
        for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
            open(os.path.join(hidden, name), "wb").close()
        server = self.server()
        said = self.get(server.url, LD_LIBRARY_PATH=hidden)
        if said.startswith("500"):
            self.skipTest("libcurl is linked in this build")
        self.assertRegex(said, "^library: libcurl: .*libcurl")


main()
