"""many.py -- ten thousand containers, sixty-four clients that create the
same one, and resources that are renamed while others name them by their rid."""
import threading
import time

from wire import Client, Server, case, equal

COUNT = 10000
CLIENTS = 64


def definition(id):
    return {"id": id, "partitionKey": {"paths": ["/pk"]}}


def in_threads(count, work):
    """Calls work(number) in so many threads that begin together; what they
    returned."""
    barrier = threading.Barrier(count)
    results = [None] * count

    def run(number):
        barrier.wait(60)
        results[number] = work(number)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


def list_all(client):
    ids, continuation = [], {}
    while True:
        page = client.must(200, "GET", "/dbs/d/colls",
                           x_ms_max_item_count=777, **continuation)
        got = page.json["DocumentCollections"]
        assert len(got) <= 777 and len(got) == page.json["_count"]
        ids += [each["id"] for each in got]
        if "x-ms-continuation" not in page.headers:
            return ids
        continuation = {
            "x_ms_continuation": page.headers["x-ms-continuation"]}


@case("ten thousand containers are created, listed by pages, used, there after "
      "a restart, and gone with their database, through a kill")
def _():
    server = Server(released=True)
    Client(server).must(201, "POST", "/dbs", {"id": "d"})
    each = COUNT // 16

    def create(number):
        client = Client(server)
        for i in range(number * each, number * each + each):
            client.must(201, "POST", "/dbs/d/colls", definition(f"c{i}"))
        return True

    began = time.monotonic()
    equal(in_threads(16, create), [True] * 16)
    made = time.monotonic() - began
    want = sorted(f"c{i}" for i in range(COUNT))
    client = Client(server)
    equal(sorted(list_all(client)), want)
    for i in range(0, COUNT, 997):
        client.must(201, "POST", f"/dbs/d/colls/c{i}/docs",
                    {"id": "1", "pk": "x"}, pk=["x"])
    status, said = server.stop()
    assert status == 0 and not said, (status, said)
    began = time.monotonic()
    server.start()
    opened = time.monotonic() - began
    client = Client(server)
    equal(sorted(list_all(client)), want)
    for i in range(0, COUNT, 997):
        client.must(200, "GET", f"/dbs/d/colls/c{i}/docs/1", pk=["x"])
        client.must(404, "GET", f"/dbs/d/colls/c{i}/docs/2", pk=["x"])
    found = client.must(200, "POST", "/offers", "SELECT VALUE COUNT(1) FROM o",
                        query=True)
    equal(found.json["Offers"], [COUNT])
    began = time.monotonic()
    client.must(204, "DELETE", "/dbs/d")
    deleted = time.monotonic() - began
    equal(client.must(200, "GET", "/offers").json["_count"], 0)
    server.kill()  # in the midst of the slices
    server.start()
    client = Client(server)
    client.must(404, "GET", "/dbs/d")
    equal(client.must(200, "GET", "/offers").json["_count"], 0)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls", definition("c1"))
    client.must(404, "GET", "/dbs/d/colls/c1/docs/1", pk=["x"])
    equal(list_all(client), ["c1"])
    server.end()
    print(f"# created in {made:.1f} s, opened in {opened:.2f} s, deleted in "
          f"{deleted:.3f} s")


@case("of sixty-four clients that create one container at once one succeeds "
      "and the others get 409")
def _():
    server = Server()
    Client(server).must(201, "POST", "/dbs", {"id": "d"})
    clients = [Client(server) for _ in range(CLIENTS)]
    for client in clients:
        client.must(200, "GET", "/")  # connected
    for i in range(10):
        got = in_threads(CLIENTS, lambda number: clients[number].ask(
            "POST", "/dbs/d/colls", definition(f"c{i}")).status)
        equal(sorted(got), [201] + [409] * (CLIENTS - 1))
    equal(len(list_all(clients[0])), 10)
    equal(clients[0].must(200, "GET", "/offers").json["_count"], 10)
    server.end()


def ask_by_rid(server, made, asks, **headers):
    """The statuses that each of the asks got, (verb, body of the nth), which
    are asked side by side of an object by its rid."""
    def ask(number):
        verb, body = asks[number]
        client = Client(server)
        return {client.ask(verb, "/" + made["_self"], body(n),
                           rid=made["_rid"], **headers).status
                for n in range(300)}

    return in_threads(len(asks), ask)


@case("a document that is renamed all the while is found by its rid")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    client.must(201, "POST", "/dbs/d/colls", definition("c"))
    made = client.must(201, "POST", "/dbs/d/colls/c/docs",
                       {"id": "0", "pk": "x", "n": 0}, pk=["x"]).json
    add = [{"op": "incr", "path": "/n", "value": 1}]
    equal(ask_by_rid(server, made, (
        ("PUT", lambda n: {"id": f"a{n}", "pk": "x", "n": n}),
        ("PUT", lambda n: {"id": f"b{n % 2}", "pk": "x", "n": n}),
        ("PATCH", lambda n: add),
        ("PATCH", lambda n: {"condition": "FROM c WHERE c.n >= 0",
                             "operations": add}),
        ("GET", lambda n: None)), pk=["x"]), 5 * [{200}])
    for status in (204, 404):
        client.must(status, "DELETE", "/" + made["_self"], pk=["x"],
                    rid=made["_rid"])
    server.end()


@case("a user that is renamed all the while is found by its rid")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    made = client.must(201, "POST", "/dbs/d/users", {"id": "0"}).json
    equal(ask_by_rid(server, made, (
        ("PUT", lambda n: {"id": f"a{n}"}),
        ("PUT", lambda n: {"id": f"b{n % 2}"}),
        ("GET", lambda n: None))), 3 * [{200}])
    for status in (204, 404):
        client.must(status, "DELETE", "/" + made["_self"], rid=made["_rid"])
    server.end()
