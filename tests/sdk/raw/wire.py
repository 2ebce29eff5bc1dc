# wire.py -- signed requests, and cases one after the other.
import base64
import http.client
import json
import os
import sys
import traceback
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../lib"))
import cases  # noqa: E402

CASES = []


def case(run):
    CASES.append(run)
    return run


def run_all(phase):
    failed = 0
    for run in CASES:
        if getattr(run, "phase", "everyday") != phase:
            continue
        name = run.__name__.replace("_", " ")
        try:
            run()
            print("ok " + name)
        except Exception:
            failed += 1
            print("not ok " + name)
            print("    " + traceback.format_exc()[:2000].replace("\n", "\n    "))
    return failed


class Server:
    def __init__(self, endpoint):
        self.address = urllib.parse.urlparse(endpoint).netloc
        self.http = http.client.HTTPConnection(self.address, timeout=60)

    def send(self, verb, path, body=None, headers=None):
        return self.send_text(verb, path,
                              None if body is None else json.dumps(body),
                              headers)

    def send_text(self, verb, path, text, headers=None):
        all_headers = {
            **cases.sign(verb, path),
            "x-ms-version": "2020-07-15",
            **(headers or {}),
        }
        data = None if text is None else text.encode()
        self.http.request(
            verb, urllib.parse.quote(path), body=data, headers=all_headers
        )
        answer = self.http.getresponse()
        raw = answer.read()
        return Answer(answer.status, dict(answer.getheaders()), raw)


class Answer:
    def __init__(self, status, headers, raw):
        self.status = status
        self.headers = {k.lower(): v for k, v in headers.items()}
        self.text = raw.decode()
        self.json = json.loads(raw) if raw else None

    def metrics(self):
        text = self.headers["x-ms-documentdb-query-metrics"]
        return {
            k: float(v) for k, v in (p.split("=") for p in text.split(";"))
        }


class Container:
    def __init__(self, server, database, id, definition, throughput=None):
        self.server = server
        self.path = f"/dbs/{database}/colls/{id}"
        self.definition = {"id": id, **definition}
        headers = {}
        if throughput:
            headers["x-ms-offer-throughput"] = str(throughput)
        self.made = server.send(
            "POST", f"/dbs/{database}/colls", self.definition, headers
        )

    def write(self, document, key):
        got = self.server.send(
            "POST",
            self.path + "/docs",
            document,
            {
                "x-ms-documentdb-partitionkey": json.dumps(key),
                "x-ms-documentdb-is-upsert": "true",
            },
        )
        assert got.status in (200, 201), got.text
        return got.json

    def query(self, text, parameters=None, key=None, **headers):
        all_headers = {
            "Content-Type": "application/query+json",
            "x-ms-documentdb-isquery": "True",
            "x-ms-documentdb-query-enablecrosspartition": "True",
            "x-ms-documentdb-populatequerymetrics": "True",
        }
        if key is not None:
            all_headers["x-ms-documentdb-partitionkey"] = json.dumps(key)
        for name, value in headers.items():
            all_headers[name.replace("_", "-")] = str(value)
        body = {"query": text}
        if parameters:
            body["parameters"] = [
                {"name": k, "value": v} for k, v in parameters.items()
            ]
        return self.server.send(
            "POST", self.path + "/docs", body, all_headers
        )

    # Every page of an answer.  `change` may alter the token on its way.
    def pages(self, text, size, change=lambda token: token, **headers):
        token = None
        for _ in range(100000):
            more = {"x_ms_continuation": token} if token else {}
            got = self.query(
                text, x_ms_max_item_count=size, **more, **headers
            )
            assert got.status == 200, got.text
            yield got
            token = got.headers.get("x-ms-continuation")
            if token is None:
                return
            assert len(token) <= 1024, len(token)
            token = change(token)
        raise AssertionError("it does not end")

    def rows(self, text, size, **more):
        return [
            row
            for page in self.pages(text, size, **more)
            for row in page.json["Documents"]
        ]


def open_token(token):
    return bytearray(base64.b64decode(json.loads(token)["token"]))


def close_token(raw):
    letters = base64.b64encode(raw).decode()
    return json.dumps({"token": letters}, separators=(",", ":"))


# A token that names no answer that waits, so that it is computed again.
def forget(token):
    raw = open_token(token)
    raw[21:29] = bytes(8)
    return close_token(raw)
