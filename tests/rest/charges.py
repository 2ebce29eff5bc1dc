"""charges.py -- what requests cost, and what happens when that is too much."""
import time

from wire import Client, Server, case, equal

C = "/dbs/d/colls/c"


def container(client, id, **headers):
    client.must(201, "POST", "/dbs/d/colls",
                {"id": id, "partitionKey": {"paths": ["/pk"]}}, **headers)


def charge(answer):
    return float(answer.headers["x-ms-request-charge"])


@case("request charges follow the formula in the manual")
def _():
    server = Server()
    client = Client(server)

    def costs(units, *args, **kwargs):
        answer = client.ask(*args, **kwargs)
        assert abs(charge(answer) - units) < 0.0051, (args, charge(answer))
        return answer

    costs(1, "GET", "/")
    costs(5, "POST", "/dbs", {"id": "d"})
    costs(1, "POST", "/dbs", {"id": "d"})  # refused
    costs(1, "GET", "/dbs/d")
    costs(1, "GET", "/dbs")
    container(client, "c")
    costs(1, "GET", C + "/pkranges")
    costs(1, "GET", "/offers")
    costs(5, "POST", "/dbs/d/users", {"id": "u"})
    costs(1, "GET", "/dbs/d/users/u")
    costs(5, "DELETE", "/dbs/d/users/u")
    for size in (100, 2000, 5000):
        body = {"id": str(size), "pk": "x", "fill": "f" * size}
        path = f"{C}/docs/{size}"
        made = client.must(201, "POST", C + "/docs", body, pk=["x"])
        kilobytes = -(-len(made.body) // 1024)
        equal(charge(made), 1.29 + 5 * kilobytes)
        costs(kilobytes, "GET", path, pk=["x"])
        costs(1.29 + 5 * kilobytes, "PUT", path, body, pk=["x"])
        costs(6.29, "DELETE", path, pk=["x"])
    for i in range(20):
        client.must(201, "POST", C + "/docs",
                    {"id": str(i), "pk": "x", "fill": "f" * 1000}, pk=["x"])
    for headers in ({}, {"a_im": "Incremental feed"}):
        listed = client.must(200, "GET", C + "/docs", **headers)
        assert len(listed.body) > 20 * 1024
        costs(1 + 0.05 * len(listed.body) / 1024, "GET", C + "/docs", **headers)
    found = client.must(200, "POST", C + "/docs", "SELECT VALUE c.id FROM c",
                        query=True)
    equal(charge(found), 2 + 3)  # twenty documents of about 1.2 KB
    costs(1, "GET", C + "/docs/none", pk=["x"])
    costs(1, "GET", C + "/docs/1", pk=["x"], if_none_match="*")
    server.end()


def drain(client, path, pk):
    """Writes until it is refused, or gives up; what was accepted, in units.
    Each write leaves a debt of seconds, so that a slow disk is no way out."""
    spent = 0
    large = {"id": "1", "pk": pk, "filler": "x" * 200000}
    for _ in range(100):
        answer = client.ask("POST", path + "/docs", large, pk=[pk],
                            x_ms_documentdb_is_upsert="true")
        if answer.status == 429:
            return spent, answer
        assert answer.status in (200, 201), answer.body
        spent += charge(answer)
    return spent, None


@case("beyond the throughput a container answers 429 and when to retry")
def _():
    server = Server("--enforce-throughput")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    container(client, "c")
    container(client, "large", x_ms_offer_throughput=1000000)
    began = time.monotonic()
    total = debts = 0
    for _ in range(2):
        spent, refused = drain(client, C, "x")
        total, debts = total + spent, max(debts, spent)
        equal(refused.substatus, 3200)
        equal(refused.json["code"], "TooManyRequests")
        equal(charge(refused), 0.38)
        wait = int(refused.headers["x-ms-retry-after-ms"])
        assert 0 < wait <= 1000 * (spent / 400 + 1), (wait, spent)
        for again in (client.ask("GET", C + "/docs/1", pk=["x"]),
                      client.ask("GET", C + "/docs"),
                      client.ask("POST", C + "/docs", "SELECT * FROM c",
                                 query=True)):
            assert again.status in (429, 200), again.status
        # What is not about documents goes on, and so do others.
        client.must(200, "GET", C)
        client.must(200, "GET", C + "/pkranges")
        client.must(201, "POST", "/dbs/d/colls/large/docs",
                    {"id": str(total), "pk": "x"}, pk=["x"])
        deadline = time.monotonic() + 30
        while client.ask("GET", C + "/docs/1", pk=["x"]).status == 429:
            assert time.monotonic() < deadline
    # Never more than the seconds there were had to give, one begun included,
    # and what the last debt was.
    seconds = int(time.monotonic() - began) + 2
    assert total <= 400 * seconds + debts, (total, seconds)
    server.end()


@case("beyond the throughput each operation of a bulk gets 429, and a batch "
      "gets it in whole")
def _():
    server = Server("--enforce-throughput")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    container(client, "c")
    sent = [{"operationType": "Create", "partitionKey": '["b"]',
             "resourceBody": {"id": id, "pk": "b"}} for id in "12"]

    def throttled(atomic, status, **more):
        for _ in range(20):  # the second may turn between the two
            _, refused = drain(client, C, "x")
            assert refused
            got = client.ask("POST", C + "/docs", sent,
                             x_ms_cosmos_is_batch_request="True",
                             x_ms_cosmos_batch_atomic=atomic, **more)
            if b"Request rate is large" in got.body:
                break
            for one in sent:  # it was served: the next are others
                one["resourceBody"]["id"] += "0"
        equal(got.status, status)
        return got

    got = throttled("True", 429, pk=["b"])
    equal((got.substatus, charge(got)), (3200, 0.38))
    got = throttled("False", 207)
    equal(charge(got), 0.76)
    for one in got.json:
        equal((one["statusCode"], one["subStatusCode"], one["requestCharge"]),
              (429, 3200, 0.38))
        assert 0 < one["retryAfterMilliseconds"] <= 60000, one
    deadline = time.monotonic() + 30
    while True:
        read = client.ask("GET", C + "/docs/" + sent[0]["resourceBody"]["id"],
                          pk=["b"])
        if read.status != 429:
            break
        assert time.monotonic() < deadline
    equal(read.status, 404)
    server.end()


@case("containers of a database share its throughput, and autoscale has its "
      "maximum")
def _():
    server = Server("--enforce-throughput")
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"}, x_ms_offer_throughput=400)
    container(client, "c")
    container(client, "e")
    container(client, "own", x_ms_offer_throughput=100000)
    container(client, "scaled", **{"x-ms-cosmos-offer-autopilot-settings":
                                   '{"maxThroughput":100000}'})
    for _ in range(20):  # the second may turn between the two
        _, refused = drain(client, C, "x")
        assert refused
        other = client.ask("GET", "/dbs/d/colls/e/docs")
        if other.status == 429:
            break
    equal(other.status, 429)
    for id in ("own", "scaled"):
        for i in range(100):
            client.must(201, "POST", f"/dbs/d/colls/{id}/docs",
                        {"id": str(i), "pk": "x"}, pk=["x"])
    server.end()


@case("nothing is refused for its cost unless that is asked for")
def _():
    server = Server()
    client = Client(server)
    client.must(201, "POST", "/dbs", {"id": "d"})
    container(client, "c")
    for _ in range(150):
        client.must(200 if _ else 201, "POST", C + "/docs",
                    {"id": "1", "pk": "x", "fill": "f" * 10000}, pk=["x"],
                    x_ms_documentdb_is_upsert="true")
    server.end()
