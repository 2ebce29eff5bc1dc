"""wire.py -- a server of one's own, and requests to it without an SDK between.

Only the standard library.  Signatures are made here from the public
documentation, not by the server's code.
"""
import base64
import email.utils
import hashlib
import hmac
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse

# The key that all emulators share; public.
EMULATOR_KEY = ("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGy"
                "PMbIZnqyMsEcaGQy67XIw/Jw==")
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
             self.work + "/data", *self.options],
            stdout=subprocess.PIPE, stderr=self.errors)
        line = self.process.stdout.readline().decode()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not found:
            self.errors.flush()
            raise RuntimeError(line + open(self.work + "/stderr").read())
        self.port = int(found.group(1))

    def keys(self):
        with open(self.work + "/data/keys") as file:
            return json.load(file)

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
        self.json = json.loads(body) if body else None


def date_of(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


def sign(key, verb, path, date, rid=None):
    """The authorization of a request by a key."""
    parts = [part for part in urllib.parse.unquote(path).split("/") if part]
    is_list = len(parts) % 2
    kind = parts[-1] if is_list else (parts[-2] if parts else "")
    link = "/".join(parts[:-1] if is_list else parts)
    if kind == "offers" and not is_list:
        link = parts[-1].lower()
    if parts[:1] == ["_runnel"]:
        kind, link = "", "/".join(parts)
    if "operations" in parts:
        kind, link = "colls", "/".join(parts[:-2])
    if rid:
        link = rid.lower()
    text = "\n".join([verb.lower(), kind, link, date.lower(), "", ""])
    digest = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256)
    return urllib.parse.quote("type=master&ver=1.0&sig=" +
                              base64.b64encode(digest.digest()).decode(), "")


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
        return Answer(got.status, dict((name.lower(), value)
                                       for name, value in got.getheaders()),
                      got.read())

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


_cases = []


def case(name):
    """Makes a function a case; the name is a sentence that holds if it ends."""
    def keep(function):
        _cases.append((name, function))
        return function
    return keep


def run_all():
    import traceback
    failed = 0
    for name, function in _cases:
        try:
            function()
            print(f"ok {name}", flush=True)
        except Exception:  # a case may fail in any way
            failed += 1
            text = traceback.format_exc()[-2000:]
            print(f"not ok {name}\n    " + text.replace("\n", "\n    "),
                  flush=True)
    return failed


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"
