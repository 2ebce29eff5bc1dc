#!/usr/bin/env python3
"""transfer.py -- `runnel export` and `runnel import` beside the server alone.

    bench/transfer.py [DOCUMENTS]     of a kilobyte; 50,000 by default

Export is compared with a client that reads the change feed in pages of 1,000
and drops the bytes; import with one that sends creates in bulk, made and signed
before, over eight connections.  What is compared is measured in turn, ROUNDS
(5) times, and of the ratios the median counts.  "by CPU" compares the processor
time of server and client together, which others on the machine disturb less.
"""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, "tests/lib")
from cases import sign  # noqa: E402

RUNNEL = os.environ.get("RUNNEL", "build/bench/runnel")
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 50000
ROUNDS = int(os.environ.get("ROUNDS", "5"))
CONNECTIONS = 8


class Account:
    def __init__(self, port, pid):
        self.port, self.pid = port, pid

    def cpu(self):
        """Seconds that the server and its clients have used so far."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            ticks = file.read().rsplit(")", 1)[1].split()[11:13]
        return (sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
                + sum(os.times()[:4]))

    def cost(self, work):
        """What the work gives, and the seconds of processors it takes."""
        began = self.cpu()
        return work(), self.cpu() - began

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    @staticmethod
    def ask(connection, method, path, body=None, **headers):
        sent = {"x-ms-version": "2018-12-31", **sign(method, path)}
        sent.update((name.replace("_", "-"), v) for name, v in headers.items())
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        return answer, answer.read()

    def make(self, name):
        connection = self.connect()
        self.ask(connection, "POST", "/dbs", '{"id":"b"}')
        answer, body = self.ask(connection, "POST", "/dbs/b/colls", json.dumps({
            "id": name, "partitionKey": {"paths": ["/pk"], "kind": "Hash"}}))
        assert answer.status == 201, body
        return f"/dbs/b/colls/{name}/docs"

    def read_feed(self, path):
        """Bytes a second of the feed."""
        connection, etag, count = self.connect(), None, 0
        began = time.monotonic()
        while True:
            more = {"If_None_Match": etag} if etag else {}
            answer, body = self.ask(connection, "GET", path,
                                    A_IM="Incremental feed",
                                    x_ms_max_item_count="1000", **more)
            if answer.status == 304:
                return count / (time.monotonic() - began)
            assert answer.status == 200, body
            count, etag = count + len(body), answer.headers["etag"]

    def create(self, path, documents):
        """Documents a second, created in bulk."""
        groups = [json.dumps([{
            "operationType": "Create", "resourceBody": document,
            "partitionKey": json.dumps([document["pk"]])}
            for document in documents[i:i + 100]])
            for i in range(0, len(documents), 100)]
        lock = threading.Lock()

        def work():
            connection = self.connect()
            while True:
                with lock:
                    if not groups:
                        return
                    body = groups.pop()
                answer, body = self.ask(
                    connection, "POST", path, body, Prefer="return=minimal",
                    x_ms_documentdb_partitionkeyrangeid="0",
                    x_ms_cosmos_is_batch_request="True",
                    x_ms_cosmos_batch_atomic="False",
                    x_ms_cosmos_batch_continue_on_error="True")
                assert answer.status in (200, 207), body
        threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(documents) / (time.monotonic() - began)

    def tool(self, *arguments):
        """Seconds that a command takes."""
        began = time.monotonic()
        subprocess.run([RUNNEL, *arguments], check=True,
                       stdout=subprocess.DEVNULL,
                       env={"RUNNEL_ACCOUNT": f"http://127.0.0.1:{self.port}/"})
        return time.monotonic() - began


def measure(account, scratch):
    documents = [{"id": f"d{i}", "pk": f"k{i % 512}", "filler": "x" * 780}
                 for i in range(COUNT)]
    file = os.path.join(scratch, "in.ndjson")
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(document) + "\n" for document in documents)
    output = os.path.join(scratch, "out.ndjson")
    rounds = []
    for i in range(ROUNDS):
        path = account.make(f"raw{i}")
        raw, raw_cpu = account.cost(lambda: account.create(path, documents))
        account.make(f"tool{i}")
        took, our_cpu = account.cost(lambda: account.tool(
            "import", "--container", f"b/tool{i}", file))
        feed, feed_cpu = account.cost(lambda: account.read_feed(path))
        wrote, out_cpu = account.cost(lambda: account.tool(
            "export", "--container", f"b/raw{i}", "--system", "--output",
            output))
        export = os.path.getsize(output) / wrote
        rounds.append((export / feed, feed_cpu / out_cpu, COUNT / took / raw,
                       raw_cpu / our_cpu, raw, COUNT / took, feed / 1e6,
                       export / 1e6))
    middle = [sorted(column)[ROUNDS // 2] for column in zip(*rounds)]
    print("export: ratio {:.2f}, by CPU {:.2f} (goal 0.5)\n"
          "import: ratio {:.2f}, by CPU {:.2f} (goal 0.7)\n"
          "bulk create {:.0f}/s, import {:.0f}/s, feed {:.0f} MB/s, "
          "export {:.0f} MB/s".format(*middle))


def main():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        server = subprocess.Popen(
            [RUNNEL, "serve", "--listen", "127.0.0.1:0", "--log-level", "error",
             "--data", os.path.join(scratch, "data")], stdout=subprocess.PIPE,
            text=True)
        try:
            port = int(server.stdout.readline().rsplit(":", 1)[1])
            measure(Account(port, server.pid), scratch)
        finally:
            server.terminate()
            server.wait()


main()
