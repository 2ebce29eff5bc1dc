// keys.js -- partition keys of every type, in both hash versions.
"use strict";
const { test, fails, assert } = require("./harness");
const { PartitionKeyBuilder, PartitionKeyKind } = require("@azure/cosmos");

const absent = Symbol("absent");
const values = [
  "p", "", "\u9c40\u{1f600}", "a\"b\\c\n", "x".repeat(100),
  0, 1, -1, 0.5, 1e300, -5e-324, 9007199254740991,
  true, false, null, absent,
];

function document(id, value) {
  return value === absent ? { id } : { id, pk: value };
}

function keyOf(value) {
  return value === absent ? undefined : value;
}

async function checkTypes(container) {
  for (const value of values) {
    const made = await container.items.create(document("typed", value));
    assert.equal(made.statusCode, 201);
  }
  for (const value of values) {
    const { resource } = await container.item("typed", keyOf(value)).read();
    assert.deepEqual(resource?.pk, keyOf(value));
  }
  for (const value of values) {
    const item = container.item("typed", keyOf(value));
    assert.equal((await item.delete()).statusCode, 204);
    assert.equal((await item.read()).statusCode, 404);
  }
}

function flatCases(database) {
  for (const version of [1, 2]) {
    test(`keys of every type work with hash version ${version}`, async () => {
      const { container, resource } = await database.containers.create({
        id: `v${version}`,
        partitionKey: { paths: ["/pk"], kind: "Hash",
          ...(version === 2 ? { version } : {}) },
        throughput: 30000,
      });
      assert.equal(resource.partitionKey.version ?? 1, version);
      await checkTypes(container);
    });
  }

  test("a nested path is a key", async () => {
    const { container } = await database.containers.create({
      id: "nested", partitionKey: { paths: ["/a/b"], version: 2 } });
    await container.items.create({ id: "1", a: { b: "x" } });
    assert.equal((await container.item("1", "x").read()).resource.a.b, "x");
    await container.items.create({ id: "2", a: 7 });
    assert.equal((await container.item("2", undefined).read()).resource.a, 7);
  });

  test("a document that changes its key is refused with 400/1001", async () => {
    const { container } = await database.containers.create({
      id: "mismatch", partitionKey: { paths: ["/pk"], version: 2 } });
    const { item } = await container.items.create({ id: "1", pk: "a" });
    const error = await fails(item.replace({ id: "1", pk: "b" }), 400, 1001);
    assert.match(error.body.message, /specified in the header\./);
    assert.equal((await container.item("1", "b").read()).statusCode, 404);
  });

  test("a key of more than 2048 bytes is refused with 400", async () => {
    const container = database.container("mismatch");
    const pk = "k".repeat(2048);
    assert.equal((await container.items.create({ id: "l", pk })).statusCode, 201);
    assert.equal((await container.item("l", pk).read()).resource.pk, pk);
    await fails(container.items.create({ id: "l", pk: `${pk}k` }), 400);
  });
}

function hierarchyCases(database) {
  test("a hierarchical key works with every type", async () => {
    const { container } = await database.containers.create({
      id: "tree",
      partitionKey: { paths: ["/a", "/b", "/c"],
        kind: PartitionKeyKind.MultiHash, version: 2 },
      throughput: 30000,
    });
    const trees = [["x", 1, true], ["x", 1, false], ["x", null, 2.5],
      ["y", "", null]];
    for (const [a, b, c] of trees)
      await container.items.create({ id: "t", a, b, c });
    for (const [a, b, c] of trees) {
      const { resource } = await container.item("t", [a, b, c]).read();
      assert.deepEqual([resource.a, resource.b, resource.c], [a, b, c]);
    }
    await container.items.create({ id: "u", a: "x", b: 1 });
    const part = new PartitionKeyBuilder().addValue("x").addValue(1)
      .addNoneValue().build();
    assert.equal((await container.item("u", part).read()).resource.id, "u");
    assert.equal((await container.item("t", ["x", 2, true]).read()).statusCode,
      404);
    await container.item("t", ["x", 1, true]).delete();
    assert.equal((await container.item("t", ["x", 1, true]).read()).statusCode,
      404);
  });

  test("a hierarchical key with a part missing is refused with 400", async () => {
    const container = database.container("tree");
    await fails(container.item("t", ["x", 1]).replace(
      { id: "t", a: "x", b: 1, c: 1 }), 400);
    await fails(container.item("t", ["x", 1]).delete(), 400);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-keys" });
  flatCases(database);
  hierarchyCases(database);
};
