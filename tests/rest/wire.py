"""wire.py -- a server of one's own, and requests to it without an SDK between.

Only the standard library.
"""
import email.utils
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
import cases  # noqa: E402
from cases import (EMULATOR_KEY, case, equal, eventually,  # noqa: E402,F401
                   run_all, web_token)

PARTITION_KEY = "x-ms-documentdb-partitionkey"


class Server:
    """A server on a directory and a port of its own: the sanitized program, or
    the one as released."""

    def __init__(self, *options, released=False):
        self.program = os.environ["RUNNEL" if released else "RUNNEL_DEV"]
        self.options = options
        self.work = tempfile.mkdtemp()
        self.start()

    def start(self):
        self.errors = open(self.work + "/stderr", "ab")
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", "127.0.0.1:0", "--data",
             self.work + "/data", "--loops", "2", *self.options],
            stdout=subprocess.PIPE, stderr=self.errors)
        line = self.process.stdout.readline().decode()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not found:
            self.errors.flush()
            raise RuntimeError(line + open(self.work + "/stderr").read())
        self.port = int(found.group(1))

    def keys(self):
        """Without their checksum, which a case that writes others leaves out."""
        with open(self.work + "/data/keys") as file:
            keys = json.load(file)
        del keys["sum"]
        return keys

    def kill(self):
        self.process.kill()
        self.process.wait(60)
        self.process.stdout.close()
        self.errors.close()

    def stop(self):
        """Its status, and what a sanitizer had to say."""
        self.process.terminate()
        status = self.process.wait(60)
        self.process.stdout.close()
        self.errors.close()
        with open(self.work + "/stderr", errors="replace") as file:
            said = re.findall(r".*(?:Sanitizer|runtime error:).*", file.read())
        return status, said

    def end(self):
        status, said = self.stop()
        shutil.rmtree(self.work)
        assert status == 0 and not said, (status, said)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.substatus = int(headers.get("x-ms-substatus", 0))
        is_page = headers.get("content-type", "").startswith("text/")
        is_binary = body[:1] == b"\x81"  # see hybrid.py
        self.json = json.loads(body) \
            if body and not is_page and not is_binary else None


def date_of(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


def sign(key, verb, path, date, rid=None, kind=None):
    """The authorization of a request by a key.  A path that does not name its
    own resource type has it in `kind`, and its link as it is in `rid`."""
    return cases.sign(verb, path, key, date, rid, kind)["authorization"]


class Client:
    """One connection.  `key` signs; with `token` it is sent instead."""

    def __init__(self, server, key=EMULATOR_KEY, token=None):
        self.key, self.token = key, token
        self.http = http.client.HTTPConnection("127.0.0.1", server.port,
                                               timeout=60)

    def send(self, verb, path, body=None, headers=None):
        """As it is: nothing is added but a length."""
        text = body if isinstance(body, (bytes, type(None))) else \
            json.dumps(body).encode()
        try:
            self.http.request(verb, path, text, headers or {})
        except (http.client.NotConnected, ConnectionError):
            self.http.close()
            self.http.request(verb, path, text, headers or {})
        got = self.http.getresponse()
        headers = dict((name.lower(), value)
                       for name, value in got.getheaders())
        # A client would join them, and send what it makes of them.
        assert len(headers) == len(got.getheaders()), got.getheaders()
        return Answer(got.status, headers, got.read())

    def ask(self, verb, path, body=None, pk=None, query=False, rid=None,
            **headers):
        """With what every request has.  `rid` is what a path by rids signs."""
        date = date_of(time.time())
        sent = {name.replace("_", "-"): str(value)
                for name, value in headers.items()}
        sent.setdefault("x-ms-version", "2020-07-15")
        if pk is not None:
            sent[PARTITION_KEY] = json.dumps(pk)
        if query:
            sent["x-ms-documentdb-isquery"] = "true"
            sent["content-type"] = "application/query+json"
            sent["x-ms-documentdb-query-enablecrosspartition"] = "true"
            body = {"query": body}
        if self.token:
            sent["authorization"] = urllib.parse.quote(self.token, "")
        else:
            sent["x-ms-date"] = date
            sent["authorization"] = sign(self.key, verb, path, date, rid)
        return self.send(verb, path, body, sent)

    def must(self, status, *args, **kwargs):
        answer = self.ask(*args, **kwargs)
        assert answer.status == status, (args, answer.status, answer.body[:400])
        return answer
