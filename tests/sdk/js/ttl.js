// ttl.js -- documents whose time ends: gone for every reader at that second,
// and removed by deletes that take LSNs.  The server's clock is turned, so
// nothing waits but for the removal itself.
"use strict";
const { test, fails, assert } = require("./harness");
const { turnClock } = require("./control");

const partitionKey = { paths: ["/pk"], version: 2 };

function cases({ endpoint, key, database }) {
  const make = async (id, defaultTtl) => (await database().containers.create(
    { id, partitionKey, defaultTtl })).container;
  const turn = (seconds) => turnClock({ endpoint, key }, seconds);
  const ids = async (container) => (await container.items.query(
    "SELECT VALUE c.id FROM c").fetchAll()).resources.sort();
  const isThere = async (container, id) =>
    (await container.item(id, "p").read()).statusCode === 200;

  // The LSN that the container's one range has come to.
  async function lsn(container) {
    const { headers } = await container.item("nobody", "p").read();
    return Number(headers["x-ms-session-token"].split("#")[1]);
  }

  async function comesTo(container, wanted) {
    for (let tries = 0; (await lsn(container)) < wanted; tries++) {
      assert.ok(tries < 200, `LSN ${await lsn(container)}, not ${wanted}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.equal(await lsn(container), wanted);
  }

  test("an item goes at the end of its ttl", async () => {
    const container = await make("own", -1);
    for (const [id, ttl] of [["a", 1000], ["b", 100000], ["c", -1], ["d"]])
      await container.items.create({ id, pk: "p", ttl });
    assert.equal((await container.item("a", "p").read()).resource.ttl, 1000);
    await turn(1001);
    assert.equal(await isThere(container, "a"), false);
    assert.deepEqual(await ids(container), ["b", "c", "d"]);
    await fails(container.item("a", "p").replace({ id: "a", pk: "p" }), 404);
    await comesTo(container, 5);
    await turn(100000);
    assert.deepEqual(await ids(container), ["c", "d"]);
    await comesTo(container, 6);
  });

  test("an item without a ttl has that of its container", async () => {
    const container = await make("default", 10000);
    await container.items.create({ id: "a", pk: "p" });
    await container.items.create({ id: "b", pk: "p", ttl: 1000 });
    await container.items.create({ id: "c", pk: "p", ttl: -1 });
    await turn(5000);
    assert.deepEqual(await ids(container), ["a", "c"]);
    await container.items.upsert({ id: "a", pk: "p" }); // begins anew
    await turn(6000);
    assert.deepEqual(await ids(container), ["a", "c"]);
    await turn(6000);
    assert.deepEqual(await ids(container), ["c"]);
    await comesTo(container, 6);
  });

  test("an expired item can be created again", async () => {
    const container = await make("again", -1);
    const { resource: old } = await container.items.create(
      { id: "a", pk: "p", ttl: 500 });
    await turn(501);
    const made = await container.items.create({ id: "a", pk: "p", ttl: 5 });
    assert.equal(made.statusCode, 201);
    assert.notEqual(made.resource._rid, old._rid);
    assert.ok(made.resource._ts >= old._ts + 501);
    assert.equal(await lsn(container), 3);
  });

  test("a ttl has no effect until the container has one", async () => {
    const container = await make("off", undefined);
    await container.items.create({ id: "a", pk: "p", ttl: 5 });
    await turn(10);
    assert.deepEqual(await ids(container), ["a"]);
    const { resource } = await container.read();
    await container.replace({ ...resource, defaultTtl: -1 });
    assert.deepEqual(await ids(container), []);
    await comesTo(container, 2);
  });

  test("a new default counts for what is there", async () => {
    const container = await make("change", 1000);
    for (let i = 0; i < 300; i++)
      await container.items.create({ id: `${i}`, pk: "p" });
    const { resource } = await container.read();
    await container.replace({ ...resource, defaultTtl: 100000 });
    await turn(50000);
    assert.equal((await ids(container)).length, 300);
    assert.equal(await lsn(container), 300);
    await container.replace({ ...resource, defaultTtl: 2000 });
    assert.deepEqual(await ids(container), []);
    await comesTo(container, 600);
  });
}

module.exports = async ({ client, endpoint, key }) => {
  const { database } = await client.databases.create({ id: "js-ttl" });
  cases({ endpoint, key, database: () => database });
};
