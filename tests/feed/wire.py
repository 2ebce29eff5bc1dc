"""wire.py -- signed requests, byte for byte as a client would send them.

Nothing but the standard library: what a case says is what is sent.
"""
import http.client
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../lib"))
from cases import EMULATOR_KEY as KEY  # noqa: E402
from cases import case, equal, eventually, run_all, sign  # noqa: E402,F401

INCREMENTAL = {"A-IM": "Incremental Feed"}


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        assert len(self.headers) == len(response.getheaders()), self.headers
        self.text = body.decode()
        self.json = json.loads(self.text) if self.text else None

    def __getitem__(self, name):
        return self.headers.get(name.lower())

    @property
    def substatus(self):
        return int(self["x-ms-substatus"] or 0)

    @property
    def ids(self):
        return [d["id"] for d in self.json["Documents"]] if self.json else []


class Server:
    """One connection; each request waits for its answer."""

    def __init__(self, endpoint):
        self.netloc = urllib.parse.urlsplit(endpoint).netloc
        self.connection = http.client.HTTPConnection(self.netloc, timeout=60)

    def another(self):
        return Server("http://" + self.netloc)

    def begin(self, verb, path, body=None, headers=None, key=KEY,
              version="2020-07-15"):
        """Sends a request and leaves it at that."""
        sent = {"x-ms-version": version, **sign(verb, path, key)}
        sent.update(headers or {})
        self.connection.request(
            verb, path, json.dumps(body) if body is not None else None, sent)

    def end(self):
        response = self.connection.getresponse()
        return Answer(response, response.read())

    def ask(self, *args, **kwargs):
        self.begin(*args, **kwargs)
        return self.end()


class Box:
    """A container of its own."""

    def __init__(self, server, name, ranges=1, paths=("/pk",), version=2, **more):
        self.server = server
        server.ask("POST", "/dbs", {"id": "feed"})
        kind = "MultiHash" if len(paths) > 1 else "Hash"
        body = {"id": name, "partitionKey": {
            "paths": list(paths), "kind": kind, "version": version}, **more}
        made = server.ask("POST", "/dbs/feed/colls", body,
                          {"x-ms-offer-throughput": str(10000 * ranges)
                           if ranges > 1 else "400"})
        assert made.status in (201, 409), made.text
        self.path = f"/dbs/feed/colls/{name}"
        self.rid = server.ask("GET", self.path).json["_rid"]

    def put(self, pk, id, **more):
        """An upsert; gives the document as stored."""
        key = pk if isinstance(pk, list) else [pk]
        doc = {"id": id, **more}
        if not isinstance(pk, list):
            doc["pk"] = pk
        answer = self.server.ask(
            "POST", self.path + "/docs", doc,
            {"x-ms-documentdb-partitionkey": json.dumps(key),
             "x-ms-documentdb-is-upsert": "true"})
        assert answer.status in (200, 201), answer.text
        return answer

    def delete(self, pk, id):
        answer = self.server.ask(
            "DELETE", f"{self.path}/docs/{id}", None,
            {"x-ms-documentdb-partitionkey": json.dumps([pk])})
        equal(answer.status, 204)

    def feed(self, token=None, version="2020-07-15", **headers):
        """GET docs with A-IM; header names with _ for -."""
        sent = dict(INCREMENTAL)
        if token is not None:
            sent["If-None-Match"] = token
        for name, value in headers.items():
            sent[name.replace("_", "-")] = str(value)
        return self.server.ask("GET", self.path + "/docs", None, sent,
                               version=version)

    def range(self, id, token=None, **headers):
        return self.feed(token, x_ms_documentdb_partitionkeyrangeid=id,
                         **headers)

    def split(self, range, **more):
        """Gives the ids of the children."""
        return self.split_or_merge("split", range=int(range), **more)

    def merge(self, range, with_):
        return self.split_or_merge("merge", range=int(range),
                                   **{"with": int(with_)})[0]

    def split_or_merge(self, how, **what):
        answer = self.server.ask("POST", f"/_runnel/{how}", {
            "container": self.path[1:], **what})
        assert answer.status == 200, answer.text
        return answer.json["ranges"]

    def ranges(self):
        return self.server.ask("GET", self.path + "/pkranges").json[
            "PartitionKeyRanges"]
