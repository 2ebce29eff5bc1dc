"""feed.py -- query_items_change_feed in all its forms.

In containers of one range and of three: a reader gets each document once, and
goes on from its continuation.
"""
import base64
import json
import time
from datetime import datetime, timedelta, timezone

from azure.cosmos import PartitionKey

from harness import case, equal, fails

COUNT = 40
HOUR = timedelta(hours=1)


def fill(container, start=0):
    for n in range(start, start + COUNT):
        container.create_item({"id": f"d{n}", "pk": f"k{n % 8}", "n": n})


def ids(*starts, key=None):
    return sorted(f"d{n}" for start in starts for n in range(start, start + COUNT)
                  if key is None or n % 8 == key)


def read(container, **how):
    """Everything there is now, and the continuation."""
    found = [each["id"] for each in container.query_items_change_feed(
        max_item_count=7, **how)]
    # The client puts its continuation where our etag was.
    return sorted(found), container.client_connection.last_response_headers["etag"]


def add_starts(container, ranges):
    of = f"of {ranges} range{'s' if ranges > 1 else ''}"

    @case(f"a feed {of} read from the beginning has everything once")
    def _():
        equal(read(container, start_time="Beginning")[0], ids(0))
        equal(read(container, is_start_from_beginning=True)[0], ids(0))

    @case(f"a feed {of} read from now has what comes after")
    def _():
        for how in ({}, {"start_time": "Now"}):
            found, token = read(container, **how)
            equal(found, [])
        fill(container, 1000)
        found, token = read(container, continuation=token)
        equal(found, ids(1000))
        equal(read(container, continuation=token)[0], [])

    @case(f"a feed {of} read from a time has what is as late")
    def _():
        now = datetime.now(timezone.utc)
        equal(read(container, start_time=now - HOUR)[0], ids(0, 1000))
        equal(read(container, start_time=now + HOUR)[0], [])

    @case(f"a feed {of} read by key has that key's documents")
    def _():
        for key in (0, 5):
            found, token = read(container, partition_key=f"k{key}",
                                start_time="Beginning")
            equal(found, ids(0, 1000, key=key))
            equal(read(container, continuation=token)[0], [])
            equal(read(container, partition_key=f"k{key}")[0], [])

    @case(f"a feed {of} read by feed ranges is complete")
    def _():
        found = []
        parts = list(container.read_feed_ranges())
        equal(len(parts), ranges)
        for part in parts:
            found += read(container, feed_range=part, start_time="Beginning")[0]
        equal(sorted(found), ids(0, 1000))
        of_key = container.feed_range_from_partition_key("k3")
        equal(read(container, feed_range=of_key, start_time="Beginning")[0],
              ids(0, 1000, key=3))

    @case(f"a feed {of} is read by range id from the beginning")
    def _():
        # This client loses the range id and so reads the whole container.
        found, etag = read(container, partition_key_range_id="0",
                           is_start_from_beginning=True)
        equal(found, ids(0, 1000))
        if ranges > 1:
            return  # it takes nothing but a number for an etag of this kind
        container.upsert_item({"id": "late", "pk": "k3"})
        found = [each["id"] for each in container.query_items_change_feed(
            partition_key_range_id="0", continuation=etag)]
        equal(found, ["late"])
        container.delete_item("late", "k3")

    @case(f"a continuation {of} holds our etags")
    def _():
        token = read(container, start_time="Beginning")[1]
        parsed = json.loads(base64.b64decode(token))
        for part in parsed["continuation"]["continuation"]:
            assert part["token"].strip('"').isdigit(), part


def add(client):
    database = client.create_database("py-feed")
    for name, units, ranges in (("one", 400, 1), ("three", 30000, 3)):
        container = database.create_container(
            name, PartitionKey(path="/pk"), offer_throughput=units)
        fill(container)
        add_starts(container, ranges)

    @case("a feed of a prefix of a hierarchical key has what begins so")
    def _():
        tree = database.create_container(
            "tree", PartitionKey(path=["/a", "/b", "/c"], kind="MultiHash"),
            offer_throughput=30000)
        for n in range(24):
            tree.create_item({"id": f"d{n}", "a": f"a{n % 2}", "b": n % 3, "c": n})
        for prefix, size in ((["a0"], 12), (["a1", 2], 4), (["none"], 0)):
            equal(len(read(tree, partition_key=prefix,
                           start_time="Beginning")[0]), size)

    @case("tokens go on through splits")
    def _():
        box = database.create_container("split", PartitionKey(path="/pk"))
        fill(box)
        tokens = [read(box, start_time="Beginning")[1], read(
            box, start_time="Beginning", partition_key="k3")[1]]
        for units, ranges, start in ((30000, 3, 1000), (60000, 6, 2000)):
            box.replace_throughput(units)
            deadline = time.monotonic() + 60
            while len(list(box.read_feed_ranges(force_refresh=True))) != ranges:
                assert time.monotonic() < deadline
            fill(box, start)
            found, tokens[0] = read(box, continuation=tokens[0])
            equal(found, ids(start))
            found, tokens[1] = read(box, continuation=tokens[1])
            equal(found, ids(start, key=3))

    @case("all versions and deletes are refused where they are not kept")
    def _():
        one = database.get_container_client("one")
        error = fails(400, lambda: list(one.query_items_change_feed(
            mode="AllVersionsAndDeletes")))
        assert "All Versions and Deletes" in error.message
        assert "must be enabled" in error.message
