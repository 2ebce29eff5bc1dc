// queries.js -- queries, and what the client does with plans by itself.
//
// Goal: the client's own pipelines give right answers over one range and over
// several.  Method: one container of 57 documents in each; what is right can be
// computed by hand.
"use strict";
const { test, fails, assert } = require("./harness");

const count = 57;

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
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "queries" });
  const one = await fill(database, "one");
  const three = await fill(database, "three", { throughput: 30000 });

  cases("one range", () => one);
  cases("three ranges", () => three);
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
