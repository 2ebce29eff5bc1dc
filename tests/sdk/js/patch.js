// patch.js -- partial updates: every operation, conditions and refusals.
"use strict";
const { test, fails, assert } = require("./harness");

function operationCases(container) {
  test("each patch operation does what it says", async () => {
    const { item } = await container().items.create({ id: "each", pk: "p",
      n: 1, gone: 1, list: [1, 2, 3], deep: { a: { b: 1 } }, old: "x" });
    const { statusCode, resource, headers } = await item.patch([
      { op: "add", path: "/new", value: { k: [true] } },
      { op: "set", path: "/deep/a/b", value: null },
      { op: "replace", path: "/deep/a", value: { c: 2 } },
      { op: "remove", path: "/gone" },
      { op: "incr", path: "/n", value: 2.5 },
      { op: "add", path: "/list/1", value: "in" },
      { op: "set", path: "/list/0", value: "over" },
      { op: "add", path: "/list/-", value: "end" },
      { op: "remove", path: "/list/2" },
      { op: "move", from: "/old", path: "/deep/moved" },
    ]);
    assert.equal(statusCode, 200);
    assert.ok(Number(headers["x-ms-request-charge"]) > 0);
    const { resource: read } = await item.read();
    assert.deepEqual(read, resource);
    const { n, list, deep, old, gone } = read;
    assert.deepEqual({ n, list, deep, old, gone, made: read.new }, { n: 3.5,
      list: ["over", "in", 3, "end"], deep: { a: { c: 2 }, moved: "x" },
      old: undefined, gone: undefined, made: { k: [true] } });
  });

  test("a patch keeps the identity and moves the etag", async () => {
    const { resource: old, item } = await container().items.create(
      { id: "identity", pk: "p" });
    const { resource } = await item.patch(
      [{ op: "set", path: "/a", value: 1 }]);
    assert.equal(resource._rid, old._rid);
    assert.notEqual(resource._etag, old._etag);
    assert.deepEqual(Object.keys(resource).slice(0, 3), ["id", "pk", "a"]);
  });

  test("many patches of one document all count", async () => {
    const { item } = await container().items.create(
      { id: "count", pk: "p", n: 0 });
    await Promise.all([...Array(60)].map(() =>
      item.patch([{ op: "incr", path: "/n", value: 1 }])));
    assert.equal((await item.read()).resource.n, 60);
  });

  test("patches of a large document all count", async () => {
    const { item } = await container().items.create(
      { id: "large", pk: "p", n: 0, text: "x".repeat(100000) });
    await Promise.all([...Array(12)].map(() =>
      item.patch([{ op: "incr", path: "/n", value: 1 }])));
    assert.equal((await item.read()).resource.n, 12);
  });
}

function refusalCases(container) {
  test("a patch condition decides, and 412 says that it did not hold",
    async () => {
      const { item } = await container().items.create(
        { id: "condition", pk: "p", n: 1, tags: ["a"] });
      const patch = (condition) => item.patch({ condition,
        operations: [{ op: "incr", path: "/n", value: 1 }] });
      assert.equal((await patch("from c where c.n = 1")).resource.n, 2);
      assert.equal((await patch(
        "FROM root r WHERE ARRAY_CONTAINS(r.tags, 'a') AND r.n < 5"))
        .resource.n, 3);
      await fails(patch("from c where c.n = 1"), 412);
      await fails(patch("from c where c.n ="), 400);
      assert.equal((await item.read()).resource.n, 3);
    });

  test("a patch minds if-match", async () => {
    const { resource: old, item } = await container().items.create(
      { id: "match", pk: "p", n: 1 });
    const guard = { accessCondition: { type: "IfMatch", condition: old._etag } };
    const operations = [{ op: "incr", path: "/n", value: 1 }];
    await item.patch(operations, guard);
    await fails(item.patch(operations, guard), 412);
    assert.equal((await item.read()).resource.n, 2);
  });

  test("a patch that cannot be done is refused and changes nothing",
    async () => {
      const body = { id: "refused", pk: "p", n: 1, list: [], s: "s" };
      const { resource: old, item } = await container().items.create(body);
      const bad = [
        { op: "add", path: "/a/b", value: 1 },
        { op: "add", path: "/list/1", value: 1 },
        { op: "replace", path: "/none", value: 1 },
        { op: "remove", path: "/none" },
        { op: "incr", path: "/s", value: 1 },
        { op: "move", from: "/none", path: "/x" },
        { op: "set", path: "/id", value: "other" },
        { op: "set", path: "/pk", value: "other" },
        { op: "set", path: "/_ts", value: 1 },
        { op: "set", path: "/ttl", value: 0 },
        { op: "set", path: "s", value: 1 },
        { op: "swap", path: "/s", value: 1 },
      ];
      for (const each of bad) {
        const error = await fails(item.patch(
          [{ op: "incr", path: "/n", value: 1 }, each]), 400);
        assert.ok(error.body.message.length > 0);
      }
      await fails(item.patch([]), 400);
      await fails(item.patch([...Array(11)].map(() =>
        ({ op: "incr", path: "/n", value: 1 }))), 400);
      assert.equal((await item.read()).resource._etag, old._etag);
    });

  test("a patch of an absent document is not found", async () => {
    await fails(container().item("absent", "p").patch(
      [{ op: "set", path: "/a", value: 1 }]), 404);
  });

  test("a document may not grow over 2 MB by a patch", async () => {
    const { item } = await container().items.create({ id: "grow", pk: "p" });
    const value = "x".repeat(1200000);
    await item.patch([{ op: "set", path: "/a", value }]);
    await fails(item.patch([{ op: "set", path: "/b", value }]), 413);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-patch" });
  const { container } = await database.containers.create(
    { id: "c", partitionKey: { paths: ["/pk"], version: 2 } });
  operationCases(() => container);
  refusalCases(() => container);
};
