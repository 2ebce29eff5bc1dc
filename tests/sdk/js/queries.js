// queries.js -- queries, and what the client does with plans by itself.
//
// Goal: the client's own pipelines give right answers over one range and over
// several.  Method: one container of 57 documents in each; what is right can be
// computed by hand.
"use strict";
const { test, fails, assert } = require("./harness");

const count = 57;

const numbers = (f) => Array.from({ length: count }, (_, n) => f(n));
const only = (p) => numbers((n) => n).filter(p);

// How the answer is asked for must not matter.
const shapes = [
  {},
  { maxItemCount: 1 },
  { maxItemCount: 10, maxDegreeOfParallelism: 3 },
  { maxItemCount: 7, forceQueryPlan: true },
];

// [query, rows, true if they come in any order]
const answers = [
  ["SELECT VALUE c.n FROM c ORDER BY c.n", numbers((n) => n)],
  ["SELECT VALUE c.n FROM c ORDER BY c.n DESC", numbers((n) => 56 - n)],
  [
    "SELECT c.n, c.pk FROM c WHERE c.n < 3 ORDER BY c.n",
    [0, 1, 2].map((n) => ({ n, pk: "p" + n })),
  ],
  ["SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n DESC", [56, 55, 54, 53, 52]],
  ["SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 50 LIMIT 20", only((n) => n >= 50)],
  ["SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 60 LIMIT 5", []],
  ["SELECT VALUE c.n FROM c WHERE c.n BETWEEN 3 AND 5 ORDER BY c.n", [3, 4, 5]],
  ["SELECT VALUE c.n FROM c WHERE c.pk IN ('p1', 'p2')", only((n) => [1, 2].includes(n % 5)), true],
  // this client drops 0 and "" from what it makes distinct
  ["SELECT DISTINCT VALUE c.n % 3 + 1 FROM c", [1, 2, 3], true],
  ["SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk", ["p0", "p1", "p2", "p3", "p4"]],
  ["SELECT VALUE COUNT(1) FROM c WHERE c.n > 40", [16]],
  ["SELECT VALUE SUM(c.n) FROM c WHERE c.n < 5", [10]],
  ["SELECT VALUE MIN(c.n) FROM c WHERE c.n > 7", [8]],
  ["SELECT VALUE MAX(c.id) FROM c", ["i9"]],
  ["SELECT VALUE AVG(c.n) FROM c WHERE c.pk = 'p0'", [27.5]],
  ["SELECT VALUE COUNT(c.nothing) FROM c", [0]],
  ["SELECT COUNT(1) AS k, MAX(c.n) AS m FROM c", [{ k: 57, m: 56 }]],
  [
    "SELECT c.pk, COUNT(1) AS k, MIN(c.n) AS low FROM c GROUP BY c.pk",
    [0, 1, 2, 3, 4].map((p) => ({ pk: "p" + p, k: p < 2 ? 12 : 11, low: p })),
    true,
  ],
  [
    "SELECT COUNT(1) AS k, c.pk FROM c GROUP BY c.pk ORDER BY c.pk DESC",
    [4, 3, 2, 1, 0].map((p) => ({ k: p < 2 ? 12 : 11, pk: "p" + p })),
  ],
  [
    "SELECT c.n, c.pk FROM c WHERE c.n > 2 GROUP BY c.n, c.pk ORDER BY c.n",
    only((n) => n > 2).map((n) => ({ n, pk: "p" + (n % 5) })),
  ],
  ["SELECT VALUE MAX(c.n) FROM c GROUP BY c.pk ORDER BY c.pk", [55, 56, 52, 53, 54]],
  ["SELECT TOP 2 VALUE c.pk FROM c GROUP BY c.pk ORDER BY c.pk DESC", ["p4", "p3"]],
  ["SELECT VALUE c.pk FROM c GROUP BY c.pk", ["p0", "p1", "p2", "p3", "p4"], true],
  ["SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 4", ["a", "b1"]],
  ["SELECT VALUE ARRAY_LENGTH(c.tags) FROM c WHERE c.n = 1", [2]],
  ["SELECT VALUE c.n FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'b2') AND c.n < 9", [2, 5, 8], true],
  // as EF Core writes FromSql with an order
  [
    'SELECT VALUE s.n FROM (SELECT * FROM root c WHERE c.n < 9) s ORDER BY s["id"] OFFSET 1 LIMIT 3',
    [1, 2, 3],
  ],
  ["SELECT VALUE c.nothing FROM c", []],
  ["SELECT c.nothing FROM c WHERE c.n = 1", [{}]],
  ["SELECT VALUE c.n FROM c WHERE c.id LIKE 'i5_'", only((n) => n >= 50), true],
  ["SELECT VALUE c.n FROM c WHERE NOT IS_DEFINED(c.nothing) AND c.n = 2", [2]],
  ["SELECT VALUE {a: [c.n, c.nothing]} FROM c WHERE c.n = 2", [{ a: [2] }]],
];

async function fill(database, id, options) {
  const { container } = await database.containers.create(
    { id, partitionKey: { paths: ["/pk"] } },
    options,
  );
  for (let n = 0; n < count; n++)
    await container.items.create({
      id: "i" + n,
      pk: "p" + (n % 5),
      n,
      tags: ["a", "b" + (n % 3)],
    });
  return container;
}

async function rows(container, query, options) {
  return (await container.items.query(query, options).fetchAll()).resources;
}

function cases(where, container) {
  const named = (name) => name + " over " + where;

  test(named("every document is read once, page by page"), async () => {
    const pages = container().items.query("SELECT * FROM c", {
      maxItemCount: 10,
    });
    const seen = new Set();
    while (pages.hasMoreResults())
      for (const d of (await pages.fetchNext()).resources ?? []) {
        assert.ok(!seen.has(d.id), d.id + " twice");
        seen.add(d.id);
      }
    assert.equal(seen.size, count);
  });
  test(named("readAll reads all"), async () => {
    const all = await container().items.readAll().fetchAll();
    assert.equal(all.resources.length, count);
  });
  test(named("a filter and a parameter choose documents"), async () => {
    const got = await rows(container(), {
      query: "SELECT VALUE c.n FROM c WHERE c.n > @n AND c.pk = @pk",
      parameters: [
        { name: "@n", value: 50 },
        { name: "@pk", value: "p1" },
      ],
    });
    assert.deepEqual(got, [51, 56]);
  });
  test(named("aggregates are merged"), async () => {
    const c = container();
    assert.deepEqual(await rows(c, "SELECT VALUE COUNT(1) FROM c"), [57]);
    assert.deepEqual(await rows(c, "SELECT VALUE SUM(c.n) FROM c"), [1596]);
    assert.deepEqual(await rows(c, "SELECT VALUE MAX(c.n) FROM c"), [56]);
    assert.deepEqual(await rows(c, "SELECT VALUE AVG(c.n) FROM c"), [28]);
  });
  test(named("an order holds across pages"), async () => {
    const got = await rows(
      container(),
      "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
      { maxItemCount: 7 },
    );
    assert.deepEqual(
      got,
      Array.from({ length: count }, (_, i) => count - 1 - i),
    );
  });
  test(named("TOP, OFFSET and LIMIT cut an ordered answer"), async () => {
    const c = container();
    assert.deepEqual(
      await rows(c, "SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n"),
      [0, 1, 2],
    );
    assert.deepEqual(
      await rows(c, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 3"),
      [10, 11, 12],
    );
  });
  test(named("DISTINCT and GROUP BY are merged"), async () => {
    const c = container();
    const keys = await rows(c, "SELECT DISTINCT VALUE c.pk FROM c");
    assert.deepEqual(keys.sort(), ["p0", "p1", "p2", "p3", "p4"]);
    const groups = await rows(
      c,
      "SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk",
    );
    assert.equal(groups.length, 5);
    assert.equal(
      groups.reduce((sum, g) => sum + g.n, 0),
      count,
    );
  });
  test(named("a join walks an array"), async () => {
    const got = await rows(
      container(),
      "SELECT VALUE t FROM c JOIN t IN c.tags WHERE STARTSWITH(t, 'b')",
    );
    assert.equal(got.length, count);
  });
  test(named("a text that is no query is refused with 400"), async () => {
    await fails(rows(container(), "SELEC * FROM c"), 400);
  });
  for (const [query, expected, unordered] of answers)
    test(named(query), async () => {
      for (const options of shapes) {
        const got = await rows(container(), query, options);
        const sort = (list) =>
          unordered ? list.map((x) => JSON.stringify(x)).sort() : list;
        assert.deepEqual(sort(got), sort(expected), JSON.stringify(options));
      }
    });
  test(named("a page can be continued by another iterator"), async () => {
    const query = "SELECT VALUE c.n FROM c ORDER BY c.n";
    const got = [];
    let continuationToken;
    do {
      const page = await container()
        .items.query(query, { maxItemCount: 10, continuationToken })
        .fetchNext();
      got.push(...page.resources);
      continuationToken = page.continuationToken;
    } while (continuationToken);
    assert.deepEqual(got, numbers((n) => n));
  });
  test(named("a query of one key sees only that key"), async () => {
    const got = await rows(
      container(),
      "SELECT VALUE c.n FROM c ORDER BY c.n DESC",
      { partitionKey: "p3", maxItemCount: 4 },
    );
    assert.deepEqual(got, [53, 48, 43, 38, 33, 28, 23, 18, 13, 8, 3]);
  });
  test(named("metrics count what was looked at"), async () => {
    const page = await container()
      .items.query("SELECT * FROM c WHERE c.pk = 'p1' AND c.id = 'i6'", {
        populateQueryMetrics: true,
        populateIndexMetrics: true,
      })
      .fetchAll();
    assert.equal(page.resources.length, 1);
    assert.ok(page.requestCharge > 0);
    const text = page.headers["x-ms-documentdb-query-metrics"];
    const all = Object.values(typeof text === "string" ? { text } : text);
    const read = all.map((one) =>
      typeof one === "string"
        ? Number(/retrievedDocumentCount=(\d+)/.exec(one)[1])
        : one.retrievedDocumentCount,
    );
    assert.equal(
      read.reduce((a, b) => a + b, 0),
      1,
    );
  });
  test(named("an order without its composite index is refused"), async () => {
    const refused = await fails(
      rows(container(), "SELECT * FROM c ORDER BY c.pk, c.n"),
      400,
    );
    assert.match(JSON.stringify(refused.body), /composite index/);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "queries" });
  const one = await fill(database, "one");
  const three = await fill(database, "three", { throughput: 30000 });

  cases("one range", () => one);
  cases("three ranges", () => three);
  test("documents are ranked by words and vectors", async () => {
    const ranked = (await database.containers.create({ id: "ranked",
      partitionKey: { paths: ["/pk"], version: 2 }, throughput: 20000,
    })).container;
    for (const [n, [text, v]] of [
      ["A swim in the cold sea", [1, 0]],
      ["Swimmers swim and swim again", [0, 1]],
      ["Nobody runs here", [1, 1]],
      ["A long text about running, biking and, at last, a swim", [0, 1]],
    ].entries())
      await ranked.items.create({ id: `${n}`, pk: n, text, v });
    const ids = async (order) => (await rows(ranked,
      `SELECT TOP 3 c.id FROM c ORDER BY ${order}`)).map((row) => row.id);
    assert.deepEqual(await ids("RANK FullTextScore(c.text, 'swim')"),
      ["1", "0", "3"]);
    assert.equal((await ids("VectorDistance(c.v, [1, 0])"))[0], "0");
    assert.equal((await ids("RANK RRF(FullTextScore(c.text, 'swim'), " +
      "VectorDistance(c.v, [1, 0]))"))[0], "0");
  });
  test("databases and containers can be queried", async () => {
    const found = await client.databases
      .query("SELECT * FROM d WHERE d.id = 'queries'")
      .fetchAll();
    assert.equal(found.resources.length, 1);
    const inside = await database.containers
      .query({
        query: "SELECT * FROM c WHERE c.id = @id",
        parameters: [{ name: "@id", value: "three" }],
      })
      .fetchAll();
    assert.equal(inside.resources.length, 1);
  });
};
