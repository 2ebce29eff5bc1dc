// batch.js -- transactional batches, and bulk in both of the client's ways.
"use strict";
const { test, assert } = require("./harness");

const statuses = (result) => result.map((each) => each.statusCode);
const create = (id, rest = {}) => ({ operationType: "Create",
  resourceBody: { id, pk: "p", ...rest } });

function batchCases(container) {
  test("a batch does all its operations with one lsn", async () => {
    const { items } = container();
    for (const id of ["b-replace", "b-delete", "b-patch"])
      await items.create({ id, pk: "p", n: 1 });
    const { code, result, headers } = await items.batch([
      create("b-create"),
      { operationType: "Upsert", resourceBody: { id: "b-upsert", pk: "p" } },
      { operationType: "Replace", id: "b-replace",
        resourceBody: { id: "b-replace", pk: "p", n: 2 } },
      { operationType: "Read", id: "b-replace" },
      { operationType: "Patch", id: "b-patch",
        resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
      { operationType: "Delete", id: "b-delete" },
    ], "p");
    assert.equal(code, 200);
    assert.deepEqual(statuses(result), [201, 201, 200, 200, 200, 204]);
    assert.equal(result[3].resourceBody.n, 2);
    assert.equal(result[4].resourceBody.n, 2);
    assert.equal(result[5].resourceBody, undefined);
    for (const each of result.slice(0, 5)) {
      assert.ok(each.requestCharge > 0);
      assert.equal(each.eTag, each.resourceBody._etag);
    }
    assert.ok(Number(headers["x-ms-request-charge"]) > 0);
    // The first 16 digits of an etag are the LSN.
    const lsns = [0, 1, 2, 4].map((i) => result[i].eTag.slice(1, 20));
    assert.equal(new Set(lsns).size, 1);
    assert.equal(new Set(result.slice(0, 5).map((r) => r.eTag)).size, 4);
    assert.equal((await container().item("b-delete", "p").read()).statusCode,
      404);
  });

  test("a failure in a batch undoes it and the others are 424", async () => {
    const { items } = container();
    await items.create({ id: "f-there", pk: "p", n: 1 });
    const { code, result } = await items.batch([
      create("f-new"),
      { operationType: "Patch", id: "f-there",
        resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
      create("f-there"),
      { operationType: "Delete", id: "f-there" },
    ], "p");
    assert.equal(code, 207);
    assert.deepEqual(statuses(result), [424, 424, 409, 424]);
    assert.equal((await container().item("f-new", "p").read()).statusCode, 404);
    assert.equal((await container().item("f-there", "p").read()).resource.n, 1);
  });

  test("each operation of a batch has its own failure", async () => {
    const { items } = container();
    const { resource } = await items.create({ id: "e", pk: "p" });
    const patch = (resourceBody, more) => ({ operationType: "Patch", id: "e",
      resourceBody, ...more });
    const rows = [
      [404, { operationType: "Read", id: "none" }],
      [404, { operationType: "Replace", id: "none",
        resourceBody: { id: "none", pk: "p" } }],
      [404, { operationType: "Delete", id: "none" }],
      [412, { operationType: "Delete", id: "e", ifMatch: "\"no\"" }],
      [412, { operationType: "Replace", id: "e", ifMatch: "\"no\"",
        resourceBody: { id: "e", pk: "p" } }],
      [412, { operationType: "Delete", id: "e", ifNoneMatch: resource._etag }],
      [400, { operationType: "Create", resourceBody: { id: "x", pk: "q" } }],
      [400, { operationType: "Create", resourceBody: { id: 1, pk: "p" } }],
      [400, patch({ operations: [{ op: "remove", path: "/none" }] })],
      [400, patch([])],
      [412, patch({ condition: "from c where c.none = 1",
        operations: [{ op: "set", path: "/a", value: 1 }] })],
    ];
    for (const [status, operation] of rows) {
      const { code, result } = await items.batch(
        [operation, create("never")], "p");
      assert.equal(code, 207);
      assert.deepEqual(statuses(result), [status, 424],
        JSON.stringify(operation));
    }
    assert.equal((await container().item("e", "p").read()).resource._etag,
      resource._etag);
  });

  test("a batch sees what it has done so far", async () => {
    const { code, result } = await container().items.batch([
      create("s", { n: 1 }),
      { operationType: "Patch", id: "s",
        resourceBody: { condition: "from c where c.n = 1",
          operations: [{ op: "incr", path: "/n", value: 1 }] } },
      { operationType: "Read", id: "s" },
      { operationType: "Delete", id: "s" },
      create("s", { n: 9 }),
    ], "p");
    assert.equal(code, 200);
    assert.equal(result[2].resourceBody.n, 2);
    assert.equal((await container().item("s", "p").read()).resource.n, 9);
  });

  test("a batch has a hundred operations at most, and one at least",
    async () => {
      const many = [...Array(101).keys()].map((n) => create(`many-${n}`));
      const { items } = container();
      assert.equal((await items.batch(many.slice(1), "p")).code, 200);
      await assert.rejects(items.batch(many, "p")); // the client itself
      await assert.rejects(items.batch([], "p"), /no operations/);
      await assert.rejects(items.batch(
        [create("huge", { text: "x".repeat(2100000) })], "p"), /too large/);
    });
}

function keyCases(database) {
  test("a batch works with a hierarchical key", async () => {
    const { container } = await database().containers.create({ id: "tree",
      partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 } });
    const { code, result } = await container.items.batch([
      { operationType: "Create", resourceBody: { id: "t", a: "x", b: 1 } },
      { operationType: "Read", id: "t" },
    ], ["x", 1]);
    assert.equal(code, 200);
    assert.equal(result[1].resourceBody.b, 1);
    const bulk = await container.items.bulk([
      { operationType: "Read", id: "t", partitionKey: ["x", 1] }]);
    assert.equal(bulk[0].statusCode, 200);
  });
}

const upsert = (id, pk, rest = {}) => ({ operationType: "Upsert",
  partitionKey: pk, resourceBody: { id, pk, ...rest } });

function bulkCases(container, wide) {
  test("each operation of a bulk succeeds or fails by itself", async () => {
    const { items } = wide();
    await items.create({ id: "there", pk: 1, n: 1 });
    const result = await items.bulk([
      { operationType: "Create", partitionKey: 1,
        resourceBody: { id: "there", pk: 1 } },
      upsert("new", 2),
      { operationType: "Patch", id: "there", partitionKey: 1,
        resourceBody: [{ op: "incr", path: "/n", value: 1 }] },
      { operationType: "Read", id: "none", partitionKey: 3 },
      { operationType: "Delete", id: "none", partitionKey: 4 },
      { operationType: "Read", id: "there", partitionKey: 1 },
    ], { continueOnError: true });
    assert.deepEqual(statuses(result), [409, 201, 200, 404, 404, 200]);
    assert.equal(result[5].resourceBody.n, 2);
    assert.equal((await wide().item("new", 2).read()).statusCode, 200);
  });

  test("a bulk that ends at its first failure says 424 of the rest",
    async () => {
      const bulk = [create("stop"), create("stop"), create("stop-not")].map(
        (each) => ({ ...each, partitionKey: "p" }));
      const result = await container().items.bulk(bulk,
        { continueOnError: false });
      assert.deepEqual(statuses(result), [201, 409, 424]);
      assert.equal((await container().item("stop", "p").read()).statusCode, 200);
      assert.equal((await container().item("stop-not", "p").read()).statusCode,
        404);
    });

  test("a bulk spreads over many ranges", async () => {
    const count = 90;
    const bulk = [...Array(count).keys()].map((n) => upsert(`w${n}`, `k${n}`));
    const result = await wide().items.bulk(bulk);
    assert.deepEqual(new Set(statuses(result)), new Set([201]));
    for (let n = 0; n < count; n += 7)
      assert.equal((await wide().item(`w${n}`, `k${n}`).read()).statusCode, 200);
  });

  test("executeBulkOperations writes hundreds of documents", async () => {
    const { items } = wide();
    const bulk = [...Array(350).keys()].map((n) => ({ ...upsert(`x${n}`, n),
      partitionKey: n }));
    bulk.push({ operationType: "Delete", id: "absent", partitionKey: 1 });
    const result = await items.executeBulkOperations(bulk);
    assert.equal(result.length, 351);
    for (const { response, error } of result.slice(0, 350))
      assert.equal(response?.statusCode, 201, error?.message);
    assert.equal(result[350].error.code, 404);
    assert.match(result[350].error.message, /does not exist/);
    assert.equal((await wide().item("x349", 349).read()).statusCode, 200);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-batch" });
  const partitionKey = { paths: ["/pk"], version: 2 };
  const { container } = await database.containers.create(
    { id: "c", partitionKey });
  const { container: wide } = await database.containers.create(
    { id: "wide", partitionKey, throughput: 50000 });
  batchCases(() => container);
  keyCases(() => database);
  bulkCases(() => container, () => wide);
};
