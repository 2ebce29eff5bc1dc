"""documents.py -- single documents: their life, conditions, ids and limits."""
import json
import time
from concurrent.futures import ThreadPoolExecutor

from azure.core import MatchConditions
from azure.cosmos import PartitionKey

from harness import Headers, case, equal, fails

PK = PartitionKey(path="/pk")
# What this client itself refuses is left to the others.
IDS = [
    "Test", "This is a test", " Test", "   Test",
    "WithUnicode\u9c40", "WithAllowedSpecial,=.:~+-@()^${}[]!_Chars",
    "BASE64_0123456789abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ==",
    "WithPercent%20", "WithPercentTwice%E9%B1%80", "With%Percent",
    "With\"Quote'and`tick", "With<angles>|pipe;semi&and*", "\U0001f600",
    "\x7f", "x" * 1023,
]


def life_of(container, name):
    made = container.create_item({"id": name, "pk": "p", "n": 1})
    equal(made["id"], name)
    equal(container.read_item(name, "p")["n"], 1)
    equal(container.replace_item(name, {"id": name, "pk": "p", "n": 2})["n"], 2)
    equal(container.read_item(name, "p")["n"], 2)
    container.delete_item(name, "p")
    fails(404, container.read_item, name, "p")


def add(client):
    database = client.create_database("py-documents")
    container = database.create_container("c", PK)
    add_life(database, container)
    add_conditions(container)
    add_ids(container)
    add_limits(database, container)


def add_life(database, container):
    @case("a document is created, read, replaced and deleted")
    def _():
        life_of(container, "life")

    @case("a document gets its system properties")
    def _():
        made = container.create_item({"id": "system", "pk": "p"})
        self_link = container.read()["_self"]
        equal(made["_self"], f"{self_link}docs/{made['_rid']}/")
        equal(made["_attachments"], "attachments/")
        assert abs(made["_ts"] - time.time()) < 60
        after = container.replace_item("system", {"id": "system", "pk": "p"})
        equal(after["_rid"], made["_rid"])
        assert after["_etag"] != made["_etag"]

    @case("a document is replaced and deleted by its own link")
    def _():
        made = container.create_item({"id": "own link", "pk": "p"})
        after = container.replace_item(made, {"id": "own link", "pk": "p", "n": 2})
        equal(after["_rid"], made["_rid"])
        equal(container.read_item(made, "p")["n"], 2)
        renamed = container.replace_item(made, {"id": "other", "pk": "p"})
        equal((renamed["id"], renamed["_rid"]), ("other", made["_rid"]))
        fails(404, container.read_item, "own link", "p", substatus=0)
        container.delete_item(made, "p")
        fails(404, container.delete_item, made, "p", substatus=0)
        fails(404, container.read_item, made, "p", substatus=0)
        again = container.create_item({"id": "own link", "pk": "p"})
        fails(404, container.replace_item, made, {"id": "own link", "pk": "p"})
        equal(container.read_item("own link", "p")["_rid"], again["_rid"])

    @case("a document comes back exactly as it was written")
    def _():
        body = {"id": "exact", "pk": "p", "empty": "", "nil": None, "yes": True,
                "big": 2**53 - 1, "tiny": 5e-324, "": 1,
                "text": "\x00\x1f\"\\/\u2028\U0001f600", "deep": [[[{"a": []}]]]}
        container.create_item(body)
        found = container.read_item("exact", "p")
        equal({name: found[name] for name in body}, body)

    @case("a duplicate id is a conflict only in the same partition")
    def _():
        container.create_item({"id": "twice", "pk": "a"})
        fails(409, container.create_item, {"id": "twice", "pk": "a"})
        container.create_item({"id": "twice", "pk": "b"})

    @case("an upsert creates and replaces")
    def _():
        first = container.upsert_item({"id": "up", "pk": "p", "n": 1})
        second = container.upsert_item({"id": "up", "pk": "p", "n": 2})
        equal(second["_rid"], first["_rid"])
        equal(container.read_item("up", "p")["n"], 2)

    @case("an absent document is not found with sub-status 0")
    def _():
        fails(404, container.read_item, "absent", "p", substatus=0)
        fails(404, container.replace_item, "absent", {"id": "absent", "pk": "p"})
        fails(404, container.delete_item, "absent", "p", substatus=0)

    @case("a document of an absent container is not found")
    def _():
        none = database.get_container_client("none")
        fails(404, none.read_item, "x", "p")
        fails(404, none.create_item, {"id": "x", "pk": "p"})

    @case("all documents are read in pages without a query")
    def _():
        listed = database.create_container("listed", PK)
        for i in range(25):
            listed.create_item({"id": str(i), "pk": i % 3})
        pages = [[each["id"] for each in page] for page in
                 listed.read_all_items(max_item_count=10).by_page()]
        assert max(len(page) for page in pages) <= 10, pages
        equal(sorted(int(each) for page in pages for each in page),
              list(range(25)))


def add_conditions(container):
    @case("if-match guards replace, upsert and delete")
    def _():
        def guard(etag):
            return {"etag": etag,
                    "match_condition": MatchConditions.IfNotModified}
        body = {"id": "guard", "pk": "p"}
        old = container.create_item(body)["_etag"]
        now = container.replace_item("guard", body, **guard(old))["_etag"]
        fails(412, container.replace_item, "guard", body, **guard(old))
        fails(412, container.upsert_item, body, **guard(old))
        fails(412, container.delete_item, "guard", "p", **guard(old))
        equal(container.read_item("guard", "p")["_etag"], now)
        now = container.upsert_item(body, **guard(now))["_etag"]
        container.delete_item("guard", "p", **guard(now))

    @case("if-none-match answers without a body")
    def _():
        made = container.create_item({"id": "fresh", "pk": "p"})
        headers = Headers()
        same = container.read_item(
            "fresh", "p", response_hook=headers,
            etag=made["_etag"], match_condition=MatchConditions.IfModified)
        assert not same, same
        equal(headers.last["etag"], made["_etag"])

    @case("a write that wants no content gets none")
    def _():
        headers = Headers()
        body = {"id": "quiet", "pk": "p", "n": 1}
        made = container.create_item(body, no_response=True,
                                     response_hook=headers)
        assert not made, made
        assert headers.last["etag"].startswith('"')
        put = container.replace_item("quiet", dict(body, n=2), no_response=True)
        assert not put, put
        assert not container.upsert_item(dict(body, n=3), no_response=True)
        equal(container.read_item("quiet", "p")["n"], 3)

    @case("answers carry a session token that reads accept")
    def _():
        headers = Headers()
        container.create_item({"id": "session", "pk": "p"},
                              response_hook=headers)
        token = headers.last["x-ms-session-token"]
        assert ":-1#" in token, token
        assert float(headers.last["x-ms-request-charge"]) > 0
        equal(container.read_item("session", "p", session_token=token)["id"],
              "session")


def add_ids(container):
    for name in IDS:
        shown = json.dumps(name[:80])

        @case(f"an id may be {shown}")
        def _(name=name):
            life_of(container, name)

    @case("an illegal id is refused with 400")
    def _():
        for name in ["a/b", "a\\b"]:
            try:
                container.create_item({"id": name, "pk": "p"})
            except ValueError:
                continue  # the client's own refusal
            except Exception as error:
                equal(error.status_code, 400)
                continue
            raise AssertionError(name)
        error = fails(400, container.create_item, {"id": "x" * 1024, "pk": "p"})
        assert "less than '1024' characters." in error.message, error.message
        fails(400, container.create_item, {"pk": "p"})


def add_limits(database, container):
    @case("an item's ttl is a positive whole number or -1")
    def _():
        mortal = database.create_container("ttl", PK, default_ttl=-1)
        for ttl in [0, -10, None, 1.5, "5", True, 2**31]:
            fails(400, mortal.create_item, {"id": "t", "pk": "p", "ttl": ttl})
        for ttl in [-1, 1000, 2**31 - 1]:
            equal(mortal.upsert_item({"id": "t", "pk": "p", "ttl": ttl})["ttl"],
                  ttl)

    @case("a document over 2 MB is refused with 413")
    def _():
        text = "x" * (2 * 1024 * 1024)
        fails(413, container.create_item, {"id": "b", "pk": "p", "text": text})
        fails(404, container.read_item, "b", "p")
        container.create_item({"id": "b", "pk": "p", "text": text[4096:]})
        equal(len(container.read_item("b", "p")["text"]), len(text) - 4096)

    @case("a body over every limit is refused and the client goes on")
    def _():
        text = "x" * (5 * 1024 * 1024)
        for _ in range(20):
            fails(413, container.create_item,
                  {"id": "h", "pk": "p", "text": text})
        life_of(container, "after-huge")

    @case("many documents are written at once")
    def _():
        def write(n):
            container.create_item({"id": f"many-{n}", "pk": n % 7, "n": n})
            return container.read_item(f"many-{n}", n % 7)["n"]
        with ThreadPoolExecutor(8) as pool:
            equal(list(pool.map(write, range(100))), list(range(100)))
