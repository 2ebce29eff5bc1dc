"""queries.py -- queries, and what the client does with plans by itself.

Goal: this client's way of asking (the query first, the plan only if an option
asks for it) gives right answers over one range and over several.  Method: one
container of 57 documents in each; what is right can be computed by hand.
"""
from azure.cosmos import PartitionKey

from harness import Headers, case, equal, fails

COUNT = 57
NUMBERS = list(range(COUNT))

# query, rows, whether they are in that order
ANSWERS = [
    ("SELECT VALUE c.n FROM c ORDER BY c.n", NUMBERS, True),
    ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", NUMBERS[::-1], True),
    ("SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n DESC", [56, 55, 54, 53], True),
    ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 50 LIMIT 20",
     NUMBERS[50:], True),
    ("SELECT DISTINCT VALUE c.n % 3 FROM c", [0, 1, 2], False),
    ("SELECT VALUE COUNT(1) FROM c", [57], True),
    ("SELECT VALUE SUM(c.n) FROM c", [1596], True),
    ("SELECT VALUE AVG(c.n) FROM c", [28], True),
    ("SELECT VALUE MIN(c.n) FROM c WHERE c.n > 7", [8], True),
    ("SELECT VALUE c.n FROM c WHERE c.n > 50", NUMBERS[51:], False),
    ("SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 4", ["a", "b1"], True),
    ("SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk",
     [{"pk": f"p{p}", "k": 12 if p < 2 else 11} for p in range(5)], False),
    ("SELECT c.nothing FROM c WHERE c.n = 1", [{}], True),
]


def fill(database, name, **options):
    container = database.create_container(name, PartitionKey("/pk"), **options)
    for n in range(COUNT):
        container.create_item({"id": f"i{n}", "pk": f"p{n % 5}", "n": n,
                               "tags": ["a", f"b{n % 3}"]})
    return container


def rows(container, query, **options):
    options.setdefault("enable_cross_partition_query", True)
    return list(container.query_items(query, **options))


def add_answers(container, where):
    for query, expected, is_ordered in ANSWERS:
        @case(f"{query} over {where}")
        def _(query=query, expected=expected, is_ordered=is_ordered):
            for size in (None, 1, 10):
                got = rows(container, query, max_item_count=size)
                if not is_ordered:
                    got, expected = sorted(got, key=str), sorted(expected, key=str)
                equal(got, expected)


def add_pages(container, where):
    @case(f"pages continue by their tokens over {where}")
    def _():
        seen, token = [], None
        while True:
            pages = container.query_items(
                "SELECT VALUE c.n FROM c ORDER BY c.n", max_item_count=10,
                enable_cross_partition_query=True).by_page(token)
            seen += list(next(pages))
            token = pages.continuation_token
            if not token:
                break
        equal(seen, NUMBERS)

    @case(f"a key and parameters narrow a query over {where}")
    def _():
        got = rows(container, "SELECT VALUE c.n FROM c WHERE c.n > @n",
                   parameters=[{"name": "@n", "value": 40}],
                   partition_key="p1", enable_cross_partition_query=None)
        equal(sorted(got), [41, 46, 51, 56])

    @case(f"many documents are read at once over {where}")
    def _():
        wanted = [(f"i{n}", f"p{n % 5}") for n in range(0, COUNT, 3)]
        got = container.read_items(wanted + [("none", "p1")])
        equal(sorted(d["n"] for d in got), list(range(0, COUNT, 3)))

    @case(f"metrics count what was looked at over {where}")
    def _():
        headers = Headers()
        rows(container, "SELECT * FROM c WHERE c.id = 'i6' AND c.pk = 'p1'",
             populate_query_metrics=True, populate_index_metrics=True,
             response_hook=headers)
        text = headers.last["x-ms-documentdb-query-metrics"]
        assert "retrievedDocumentCount=1;" in text, text
        assert "/pk/?" in str(headers.last["x-ms-cosmos-index-utilization"])

    @case(f"what is no query is refused over {where}")
    def _():
        fails(400, rows, container, "SELEC * FROM c")
        fails(400, rows, container, "SELECT * FROM c ORDER BY c.pk, c.n")
        fails(400, rows, container, "SELECT VALUE udf.f(c.n) FROM c")


def add(client):
    database = client.create_database("py-queries")
    ranges = {"one range": fill(database, "one"),
              "three ranges": fill(database, "three", offer_throughput=30000)}
    for where, container in ranges.items():
        add_answers(container, where)
        add_pages(container, where)

    @case("documents are ranked by words and vectors")
    def _():
        ranked = database.create_container("ranked", PartitionKey("/pk"),
                                           offer_throughput=20000)
        for n, (text, v) in enumerate([
                ("A swim in the cold sea", [1, 0]),
                ("Swimmers swim and swim again", [0, 1]),
                ("Nobody runs here", [1, 1]),
                ("A long text about running and, at last, a swim", [0, 1])]):
            ranked.create_item({"id": str(n), "pk": n, "text": text, "v": v})

        def ids(order):
            return [row["id"] for row in rows(
                ranked, f"SELECT TOP 3 c.id FROM c ORDER BY {order}")]

        words = "FullTextScore(c.text, 'swim')"
        vectors = "VectorDistance(c.v, [1, 0])"
        equal(ids(f"RANK {words}"), ["1", "0", "3"])
        equal(ids(vectors)[0], "0")
        equal(ids(f"RANK RRF({words}, {vectors})")[0], "0")

    @case("databases and containers can be queried")
    def _():
        found = list(client.query_databases(
            "SELECT * FROM d WHERE d.id = 'py-queries'"))
        equal([d["id"] for d in found], ["py-queries"])
        found = list(database.query_containers(
            "SELECT * FROM c WHERE c.id = @id",
            parameters=[{"name": "@id", "value": "three"}]))
        equal([c["id"] for c in found], ["three"])
