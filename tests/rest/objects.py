"""objects.py -- the catalog's objects on the wire: pages."""
from wire import Client, Server, case, equal


def pages(client, path, text, size):
    """The ids that a query gives, page by page."""
    found, more = [], {}
    while True:
        answer = client.must(200, "POST", path, text, query=True,
                             x_ms_max_item_count=size, **more)
        items = next(value for value in answer.json.values()
                     if isinstance(value, list))
        found.append([each["id"] for each in items])
        token = answer.headers.get("x-ms-continuation")
        if not token:
            return found
        assert len(found) < 100, found
        more = {"x_ms_continuation": token}


@case("a query of databases or containers gives each once, in pages of any "
      "size, and the last page says so")
def _():
    server = Server()
    client = Client(server)
    names = [f"n{i}" for i in range(6)]
    for name in names:
        client.must(201, "POST", "/dbs", {"id": name})
        client.must(201, "POST", "/dbs/n0/colls",
                    {"id": name, "partitionKey": {"paths": ["/pk"]}})
    for path in ("/dbs", "/dbs/n0/colls"):
        for text, wanted in (
                ("SELECT * FROM c", names),
                ("SELECT c.id FROM c WHERE c.id != 'n2'",
                 names[:2] + names[3:]),
                ("SELECT * FROM c ORDER BY c.id DESC", names[::-1])):
            for size in (1, 2, 3, 4, 6, 100):
                found = pages(client, path, text, size)
                equal([each for page in found for each in page], wanted)
                equal(len(found), -(-len(wanted) // size))
    server.end()
