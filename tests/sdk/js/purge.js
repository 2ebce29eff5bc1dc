// purge.js -- all documents of one partition key value go.
"use strict";
const { test, fails, assert } = require("./harness");

function cases(container, deep) {
  const countOf = async (where, key) => (await where.items.query(
    "SELECT VALUE COUNT(1) FROM c", { partitionKey: key }).fetchAll())
    .resources[0];

  test("all items of a partition key are deleted", async () => {
    const { items } = container();
    const numbers = [...Array(300).keys()];
    await Promise.all(numbers.map((n) =>
      items.create({ id: `${n}`, pk: n % 3 })));
    const answer = await container().deleteAllItemsForPartitionKey(1);
    assert.equal(answer.statusCode, 200);
    assert.equal(await countOf(container(), 1), 0);
    assert.equal(await countOf(container(), 0), 100);
    assert.equal(await countOf(container(), 2), 100);
    assert.equal((await items.create({ id: "1", pk: 1 })).statusCode, 201);
    assert.equal(await countOf(container(), 1), 1);
    await container().deleteAllItemsForPartitionKey("nobody's");
  });

  test("all items of a hierarchical partition key are deleted", async () => {
    for (const b of [1, 2])
      for (const id of ["x", "y"])
        await deep().items.create({ id, a: "a", b });
    await deep().deleteAllItemsForPartitionKey(["a", 1]);
    assert.equal(await countOf(deep(), ["a", 1]), 0);
    assert.equal(await countOf(deep(), ["a", 2]), 2);
    await fails(deep().deleteAllItemsForPartitionKey(["a"]), 400);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-purge" });
  const { container } = await database.containers.create(
    { id: "c", partitionKey: { paths: ["/pk"], version: 2 } });
  const { container: deep } = await database.containers.create({
    id: "deep",
    partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 },
  });
  cases(() => container, () => deep);
};
