"""reach.py -- where the feed is read, with which rights, and in which
protocols it is not."""
import socket
import struct
import threading
import urllib.parse

from wire import Box, Server, case, equal


def readers(server):
    @case("the feed is read at every endpoint that is named as readable")
    def _():
        box = Box(server, "anywhere")
        box.put("p", "a")
        account = server.ask("GET", "/").json
        named = account["readableLocations"] + account["writableLocations"]
        assert len(account["readableLocations"]) >= 1
        for location in named:
            url = urllib.parse.urlsplit(location["databaseAccountEndpoint"])
            there = Server(f"http://{url.netloc}")
            path = url.path.rstrip("/") + box.path + "/docs"
            answer = there.ask("GET", path, None, {"A-IM": "Incremental Feed"})
            equal((answer.status, answer.ids), (200, ["a"]))

    @case("threads that share a feed by its ranges have each change once")
    def _():
        box = Box(server, "shared", 6)
        lock, found, places = threading.Lock(), [], {}
        waiting = [each["id"] for each in box.ranges()]
        writing = threading.Event()

        def write():
            mine = Box(server.another(), "shared", 6)
            for n in range(200):
                mine.put(f"k{n}", f"d{n}")
            writing.set()

        def read():
            mine = Box(server.another(), "shared", 6)
            while True:
                with lock:
                    if not waiting:
                        return
                    id = waiting.pop(0)
                    is_last = writing.is_set()
                page = mine.range(id, places.get(id), x_ms_max_item_count=3)
                with lock:
                    places[id] = page["etag"]
                    found.extend(page.ids)
                    if page.status == 200 or not is_last:
                        waiting.append(id)

        threads = [threading.Thread(target=write)] + [
            threading.Thread(target=read) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        equal(sorted(found), sorted(f"d{n}" for n in range(200)))


def exchange(server, data):
    """All that the server says to these bytes until it hangs up."""
    host, port = server.netloc.split(":")
    said = b""
    with socket.create_connection((host, int(port)), timeout=30) as s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while True:
            more = s.recv(65536)
            if not more:
                return said
            said += more


def strangers(server):
    @case("graph and table requests are refused in JSON, with no switch")
    def _():
        host = f"Host: {server.netloc}\r\nConnection: close\r\n".encode()
        upgrade = (b"GET /gremlin HTTP/1.1\r\nUpgrade: websocket\r\n"
                   b"Sec-WebSocket-Version: 13\r\n"
                   b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + host +
                   b"\r\n")
        table = (b"GET /Tables HTTP/1.1\r\nDataServiceVersion: 3.0\r\n" + host +
                 b"\r\n")
        for request in (upgrade, table):
            said = exchange(server, request)
            status = int(said.split(b" ")[1])
            assert 400 <= status < 500, said
            assert b'"code":' in said and b'"message":' in said, said

    @case("a MongoDB greeting is no request, and the connection ends")
    def _():
        document = (b"\x10ismaster\x00\x01\x00\x00\x00\x00")
        document = struct.pack("<i", len(document) + 4) + document
        body = struct.pack("<i", 0) + b"\x00" + document
        message = struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body
        said = exchange(server, message)
        assert said == b"" or said.startswith(b"HTTP/1.1 400 "), said
        equal(Box(server, "anywhere").feed().ids, ["a"])


def add(server):
    readers(server)
    strangers(server)
