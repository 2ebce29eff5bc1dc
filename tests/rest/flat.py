"""flat.py -- 200,000 requests, after which the server has no more memory than
it had when it was warm.

The requests are of every common kind, good and bad, and signed beforehand; they
are sent many at a time over connections that come and go, since what is lost
may be lost by the request, by the connection or by the page.  What is lost goes
on being lost, so it shows in each of three parts behind the first 50,000; half
a megabyte that a thread takes once, early or late, shows in one.
"""
import json
import re
import socket
import threading
import time
import urllib.request

from wire import (EMULATOR_KEY, PARTITION_KEY, Client, Server, case, date_of,
                  eventually, sign)

DOCS = "/dbs/d/colls/c/docs"
THREADS = 4
AT_ONCE = 100
PER_CONNECTION = 25  # times AT_ONCE
GROWTH_KB = 128  # of 50,000 requests
QUERY = {"content-type": "application/query+json",
         "x-ms-documentdb-isquery": "true",
         "x-ms-documentdb-query-enablecrosspartition": "true"}


def raw(verb, path, body=b"", **headers):
    date = date_of(time.time())
    sent = {"host": "localhost", "x-ms-version": "2020-07-15",
            "x-ms-date": date, "content-length": len(body),
            "authorization": sign(EMULATOR_KEY, verb, path, date)}
    sent.update((name.replace("_", "-"), value)
                for name, value in headers.items())
    lines = [f"{verb} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return "\r\n".join(lines + ["", ""]).encode() + body


def mixture():
    """A hundred requests: bytes, and the statuses of their answers."""
    key = {PARTITION_KEY: '["p"]'}
    document = {"id": "a", "pk": "p", "text": "x" * 500}
    text = json.dumps({"query": "SELECT c.id FROM c WHERE c.pk = 'p'"}).encode()
    kinds = [
        (1, 200, raw("POST", DOCS, json.dumps(document).encode(), **key,
                     x_ms_documentdb_is_upsert="true")),
        (50, 200, raw("GET", DOCS + "/a", **key)),
        (10, 404, raw("GET", DOCS + "/none", **key)),
        (10, 200, raw("GET", DOCS)),
        (8, 200, raw("POST", DOCS, text, **QUERY)),
        (8, 304, raw("GET", DOCS, a_im="Incremental Feed", if_none_match="*")),
        (5, 200, raw("GET", DOCS, a_im="Incremental Feed")),
        (4, 400, raw("POST", DOCS, b'{"id":"z","x":[', **key)),
        (4, 400, raw("POST", DOCS, b'{"query":"SELECT"}', **QUERY)),
    ]
    assert sum(kind[0] for kind in kinds) == AT_ONCE
    each = [kind for kind in kinds for _ in range(kind[0])]
    return b"".join(kind[2] for kind in each), [kind[1] for kind in each]


def take(reader):
    """The status of the next answer."""
    status, length = int(reader.readline().split()[1]), 0
    while (line := reader.readline()) != b"\r\n":
        if line[:15].lower() == b"content-length:":
            length = int(line[15:])
    reader.read(length)
    return status


def ask(port, rounds, wrong):
    sent, wanted = mixture()
    try:
        while rounds > 0:
            with socket.create_connection(("127.0.0.1", port), 60) as line, \
                    line.makefile("rb", 1 << 18) as reader:
                for _ in range(min(rounds, PER_CONNECTION)):
                    line.sendall(sent)
                    got = [take(reader) for _ in wanted]
                    assert got == wanted, got
            rounds -= PER_CONNECTION
    except Exception as error:  # of a thread; the case reports it
        wrong.append(error)


def memtable_bytes(server):
    with urllib.request.urlopen(
            f"http://127.0.0.1:{server.port}/metrics") as got:
        return float(re.search(r"^runnel_store_recent_bytes (\S+)",
                               got.read().decode(), re.M).group(1))


def resident_kb(server):
    """Of its own.  Pages of the store's file, which it maps, are the kernel's
    to take back, and there are as many as the store has grown.  What was
    written lately is in memory until the store has put it into that file."""
    eventually(lambda: memtable_bytes(server), lambda bytes: bytes == 0)
    with open(f"/proc/{server.process.pid}/status") as file:
        return int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1))


def load(server, requests):
    wrong = []
    threads = [threading.Thread(target=ask, args=(
        server.port, requests // AT_ONCE // THREADS, wrong))
        for _ in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong, wrong
    return resident_kb(server)


@case("memory after 200,000 requests is what it was after 50,000")
def _():
    server = Server("--checkpoint-ms", "100", released=True)
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls",
                {"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}})
    for name in "abc":
        client.must(201, "POST", DOCS, {"id": name, "pk": "p"}, pk=["p"])
    held = [load(server, 50000) for _ in range(4)]
    server.end()
    print("# kB, after each 50,000:", *held)
    growth = min(after - before for before, after in zip(held, held[1:]))
    assert growth <= GROWTH_KB, held
