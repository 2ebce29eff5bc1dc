"""lib.py -- a server of one's own, signed requests, and cases.

Only the standard library.  RUNNEL_DEV names the program (with sanitizers).
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from cases import (EMULATOR_KEY, Skipped, case, equal, eventually,  # noqa: E402,F401
                   run_all, sign, web_token)

# Taken out: a server would wonder which option that is.
RUNNEL = os.environ.pop("RUNNEL_DEV")
LIMIT_S = 3600 if os.environ.get("RUNNEL_PROVE") else 30
# Off loopback the server needs an option to be root, if it is.
AS_ROOT = ["--allow-root"] if os.geteuid() == 0 else []


class Server:
    """`runnel serve` on a port of its own; ends with the block, cleanly."""

    def __init__(self, *options, data=None, listen="127.0.0.1:0",
                 program=RUNNEL):
        self.options, self.listen, self.program = options, listen, program
        self.home = tempfile.mkdtemp()
        self.data = data or os.path.join(self.home, "data")
        self.lines = []

    def __enter__(self):
        self.start()
        return self

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--listen", self.listen, "--data", self.data,
             *self.options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        first = self.process.stdout.readline()
        found = re.match(r"listening on (https?)://(.*):(\d+)\n", first)
        if not found:
            self.process.wait(LIMIT_S)
            self.reader.join(LIMIT_S)
            raise AssertionError("does not start: " + "\n".join(self.lines))
        self.scheme, self.port = found[1], int(found[3])

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(LIMIT_S)
        self.reader.join(LIMIT_S)
        self.process.stdout.close()
        said = "\n".join(self.lines)
        assert status == 0, f"status {status}: {said}"
        assert not re.search("Sanitizer|runtime error:", said), said

    def __exit__(self, kind, *_):
        try:
            if kind:
                self.process.kill()
                self.process.wait()
            else:
                self.stop()
        finally:
            shutil.rmtree(self.home)

    def wait_for_line(self, pattern):
        """The first line of the log like that; it must come."""
        for _ in range(LIMIT_S * 100):
            for line in list(self.lines):
                if re.search(pattern, line):
                    return line
            threading.Event().wait(0.01)
        raise AssertionError(f"no '{pattern}' in " + "\n".join(self.lines))

    def connect(self, cafile=None):
        if cafile:
            return http.client.HTTPSConnection(
                "localhost", self.port, timeout=LIMIT_S,
                context=ssl.create_default_context(cafile=cafile))
        return http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=LIMIT_S)

    def ask(self, method, path, body=None, headers=None, key=EMULATOR_KEY,
            cafile=None, raw=False):
        """Status, headers (lower case) and body of a signed request."""
        sent = {"x-ms-version": "2018-12-31"}
        if key:
            sent.update(sign(method, path, key))
        sent.update(headers or {})
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        connection = self.connect(cafile)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if not raw:
            text = json.loads(text) if text else None
        found = {name.lower(): value for name, value in answer.getheaders()}
        assert len(found) == len(answer.getheaders()), answer.getheaders()
        return answer.status, found, text

    def post(self, path, body, **more):
        return self.ask("POST", path, body, **more)

    def metrics(self):
        """Every sample of /metrics by its name with labels."""
        _, _, text = self.ask("GET", "/metrics", key=None, raw=True)
        samples = [line.rsplit(" ", 1) for line in text.decode().splitlines()
                   if not line.startswith("#")]
        return {name: float(value) for name, value in samples}

    def make(self, database="d", container="c", **definition):
        """A database with a container, by its path; keyed by /pk."""
        self.post("/dbs", {"id": database})
        status, _, body = self.post(f"/dbs/{database}/colls", {
            "id": container, "partitionKey": {"paths": ["/pk"], "kind": "Hash"},
            **definition})
        equal(status, 201, body)
        return f"/dbs/{database}/colls/{container}"

    def put(self, container, document, **more):
        return self.post(f"{container}/docs", document, **more)

    def get(self, container, identity, pk):
        return self.ask("GET", f"{container}/docs/{identity}",
                        headers=pk_header(pk))


def request(method, path, body=b"", headers=None):
    """The bytes of a signed request."""
    lines = {"Host": "localhost", "x-ms-version": "2018-12-31",
             **sign(method, path, EMULATOR_KEY), **(headers or {}),
             **({"Content-Length": len(body)} if body else {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def open_socket(server):
    return socket.create_connection(("127.0.0.1", server.port), LIMIT_S)


def own_address():
    """An address of this machine that is not loopback, or None.  To name a
    destination for datagrams sends none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return s.getsockname()[0]


def pk_header(*values):
    return {"x-ms-documentdb-partitionkey": json.dumps(list(values))}


def run(*arguments, **more):
    """Exit status, standard output and standard error of `runnel ...`."""
    done = subprocess.run([RUNNEL, *arguments], capture_output=True, text=True,
                          timeout=LIMIT_S, **more)
    return done.returncode, done.stdout, done.stderr


def run_cases():
    sys.exit(run_all() > 0)
