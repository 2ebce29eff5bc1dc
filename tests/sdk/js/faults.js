// faults.js -- what the client makes of answers that say "not now", and of
// those that never come.  The server has orders to give them.
//
// A plan of a query is no query here: those go to ranges, known by a header.
"use strict";
const { BulkOperationType, ChangeFeedStartFrom } = require("@azure/cosmos");
const { test, fails, assert } = require("./harness");
const { meets, merge, split } = require("./control");

const path = "/dbs/js-faults/colls/c/docs";
const gone = [1000, 1002, 1007, 1008];

// The container has two ranges, and one document to look for.
async function isInFeed(c) {
  const feed = c.items.getChangeFeedIterator(
    { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() });
  for (let pages = 0; pages < 4; pages++) {
    const { result } = await feed.readNext();
    if (result.some(({ id }) => id === "kept")) return true;
  }
  return false;
}

// Operations by name; each returns whether it was done.
function operations(c) {
  const fresh = (() => {
    let n = 0;
    return () => ({ id: `new-${n++}`, pk: "p" });
  })();
  const writes = {
    create: async () => (await c.items.create(fresh())).statusCode === 201,
    upsert: async () => (await c.items.upsert(fresh())).statusCode === 201,
    replace: async () => (await c.item("kept", "p").replace(
      { id: "kept", pk: "p" })).statusCode === 200,
    patch: async () => (await c.item("kept", "p").patch(
      [{ op: "set", path: "/n", value: 1 }])).statusCode === 200,
    batch: async () => (await c.items.batch([{ operationType: "Create",
      resourceBody: fresh() }], "p")).result[0].statusCode === 201,
  };
  const point = {
    read: async () => (await c.item("kept", "p").read()).statusCode === 200,
  };
  const lists = {
    query: async () => (await c.items.query("SELECT * FROM c WHERE c.id='kept'",
      { forceQueryPlan: true }).fetchAll()).resources.length === 1,
    feed: () => isInFeed(c),
  };
  return { writes, point, lists, fresh };
}

function cases(server, c, hasty) {
  const { writes, point, lists, fresh } = operations(c());
  const ranged = "x-ms-documentdb-partitionkeyrangeid";
  const struck = (order, name, operation) => meets(server,
    { path, header: name === "query" ? ranged : "", ...order }, operation);

  async function allDone(order, set) {
    for (const [name, operation] of Object.entries(set))
      assert.ok(await struck(order, name, operation), name);
  }

  test("what is throttled is repeated until it is done", async () => {
    await allDone({ status: 429, count: 2 }, { ...writes, ...point, ...lists });
    const answer = await struck({ status: 429, count: 3 }, "read",
      () => c().item("kept", "p").read());
    assert.equal(answer.headers["x-ms-throttle-retry-count"], 3);
    assert.ok(answer.headers["x-ms-throttle-retry-wait-time-ms"] > 0);
  });

  test("bulk repeats what is throttled", async () => {
    const operation = { operationType: BulkOperationType.Create,
      partitionKey: "p", resourceBody: fresh() };
    const [{ response }] = await struck({ status: 429 }, "bulk",
      () => c().items.executeBulkOperations([operation]));
    assert.equal(response.statusCode, 201);
  });

  test("one that does not repeat gets 429/3200 with a delay", async () => {
    const error = await fails(struck({ status: 429 }, "create",
      () => hasty().items.create(fresh())), 429, 3200);
    assert.ok(error.retryAfterInMs > 0);
  });

  test("what reads is repeated after 503, what writes fails", async () => {
    await allDone({ status: 503 }, { ...point, ...lists });
    const item = fresh();
    await fails(struck({ status: 503 }, "create", () => c().items.create(item)),
      503);
    assert.equal((await c().items.create(item)).statusCode, 201);
  });

  test("a feed looks for ranges anew when its own is gone", async () => {
    for (const subStatus of [1002, 1007])
      await allDone({ status: 410, subStatus }, { feed: lists.feed });
  });

  test("a 410 to a single document has its sub-status", async () => {
    for (const subStatus of gone)
      for (const operation of [point.read, writes.create])
        await fails(struck({ status: 410, subStatus }, "", operation), 410,
          subStatus);
  });

  test("a 408, 449 or 500 is reported, and nothing was done", async () => {
    for (const status of [408, 449, 500]) {
      await fails(struck({ status }, "read", point.read), status);
      const item = fresh();
      await fails(struck({ status }, "create", () => c().items.create(item)),
        status);
      assert.equal((await c().items.create(item)).statusCode, 201);
    }
  });

  test("a late session and a write elsewhere are repeated", async () => {
    await allDone({ status: 404, subStatus: 1002 }, { ...point, ...lists });
    await allDone({ status: 403, subStatus: 3 }, { create: writes.create });
  });

  test("what reads is repeated when its answer is lost", async () => {
    await allDone({ lose: "answer" }, { ...point, ...lists });
  });

  test("a write whose answer is lost is reported, and is there", async () => {
    const item = fresh();
    await fails(struck({ lose: "answer" }, "create",
      () => c().items.create(item)), "ECONNRESET");
    await fails(c().items.create(item), 409);
  });
}

// By default the server puts a query together and the client merely goes on
// with it.  With forceQueryPlan it would ask a range that is gone again and
// again: it looks for the new ones where it has the old ones.
function reshapeCases(server, database) {
  test("a query goes on through a split and a merge", async () => {
    const { container } = await database().containers.create(
      { id: "moved", partitionKey: { paths: ["/pk"], version: 2 },
        throughput: 20000 });
    const link = "dbs/js-faults/colls/moved";
    const wanted = [...Array(40).keys()];
    for (const n of wanted)
      await container.items.create({ id: `${n}`, pk: `k${n}`, n });
    const pages = container.items.query("SELECT VALUE c.n FROM c ORDER BY c.n",
      { maxItemCount: 3 });
    const found = (await pages.fetchNext()).resources;
    const { ranges } = await split(server, link, 0);
    found.push(...(await pages.fetchNext()).resources);
    await merge(server, link, Number(ranges[0]), Number(ranges[1]));
    while (pages.hasMoreResults())
      found.push(...(await pages.fetchNext()).resources ?? []);
    assert.deepEqual(found, wanted);
  });
}

module.exports = async ({ client, connect, endpoint, key }) => {
  const { database } = await client.databases.create({ id: "js-faults" });
  const { container } = await database.containers.create(
    { id: "c", partitionKey: { paths: ["/pk"], version: 2 },
      throughput: 20000 });
  await container.items.create({ id: "kept", pk: "p" });
  const hasty = connect({ connectionPolicy: { retryOptions:
    { maxRetryAttemptCount: 0 }, enableBackgroundEndpointRefreshing: false } });
  cases({ endpoint, key }, () => container,
    () => hasty.database("js-faults").container("c"));
  reshapeCases({ endpoint, key }, () => database);
};
