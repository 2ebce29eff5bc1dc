// durable.js -- what was acknowledged is there after the server was killed.
"use strict";
const { test, fails, assert } = require("./harness");

const count = 200;

function writeCases(client) {
  test("documents are written before the server is killed", async () => {
    const { database } = await client.databases.create({ id: "js-durable" });
    const { container } = await database.containers.create({
      id: "kept", partitionKey: { paths: ["/pk"], version: 2 },
      defaultTtl: 100000, throughput: 30000 });
    await database.containers.create({ id: "gone", partitionKey: "/pk" });
    await database.container("gone").delete();
    for (let n = 0; n < count; n++)
      await container.items.create({ id: `d${n}`, pk: n % 10, n });
    await container.item("d0", 0).replace({ id: "d0", pk: 0, n: "replaced" });
    await container.item("d1", 1).delete();
  });
}

function reopenedCases(client) {
  const database = client.database("js-durable");
  const container = database.container("kept");

  test("containers are as they were before the kill", async () => {
    const { resource } = await container.read();
    assert.equal(resource.defaultTtl, 100000);
    assert.deepEqual(resource.partitionKey,
      { paths: ["/pk"], kind: "Hash", version: 2 });
    await fails(database.container("gone").read(), 404);
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    assert.ok(resources.length > 1);
  });

  test("every acknowledged write outlived the kill", async () => {
    for (let n = 2; n < count; n++) {
      const { resource } = await container.item(`d${n}`, n % 10).read();
      assert.equal(resource?.n, n);
    }
    assert.equal((await container.item("d0", 0).read()).resource.n, "replaced");
    assert.equal((await container.item("d1", 1).read()).statusCode, 404);
  });

  test("new documents get identities of their own after the kill", async () => {
    const { resource: old } = await container.item(`d${count - 1}`,
      (count - 1) % 10).read();
    const { resource } = await container.items.create({ id: "new", pk: 1 });
    assert.notEqual(resource._rid, old._rid);
    assert.notEqual(resource._etag, old._etag);
    await fails(container.items.create({ id: "new", pk: 1 }), 409);
  });
}

module.exports = async ({ client, phase }) => {
  if (phase === "write") writeCases(client);
  else reopenedCases(client);
};
