// unique.js -- unique keys: the first document with a value has it.
"use strict";
const { test, fails, assert } = require("./harness");

const uniqueKeyPolicy = {
  uniqueKeys: [{ paths: ["/email"] }, { paths: ["/name", "/address/zip"] }],
};

function cases(container) {
  const person = (id, more) => ({
    id, pk: "p", email: id, name: id, address: { zip: 1 }, ...more });

  test("a container has its unique keys", async () => {
    const { resource } = await container().read();
    assert.deepEqual(resource.uniqueKeyPolicy, uniqueKeyPolicy);
  });

  test("a unique value is refused to a second document", async () => {
    const { items } = container();
    await items.create(person("a"));
    const error = await fails(items.create(person("b", { email: "a" })), 409);
    assert.match(error.message, /Unique index constraint violation/);
    await fails(items.upsert(person("b", { email: "a" })), 409);
    await fails(items.create(person("b", { name: "a" })), 409);
    await items.create(person("b", { name: "a", address: { zip: 2 } }));
    await items.create(person("a", { pk: "q" }));
  });

  test("a unique value is free when its document gives it up", async () => {
    const { items } = container();
    await items.create(person("giver"));
    await items.create(person("taker"));
    const taker = container().item("taker", "p");
    const wish = person("taker", { email: "giver" });
    await fails(taker.replace(wish), 409);
    await container().item("giver", "p").replace(
      person("giver", { email: "other" }));
    assert.equal((await taker.replace(wish)).statusCode, 200);
    await taker.delete();
    await items.create(person("third", { email: "giver" }));
  });

  test("a unique value that is missing is null, once", async () => {
    const { items } = container();
    await items.create({ id: "n1", pk: "null", name: 1 });
    await fails(items.create({ id: "n2", pk: "null", name: 2 }), 409);
    await fails(items.create({ id: "n2", pk: "null", name: 2, email: null }),
      409);
    await items.create({ id: "n2", pk: "null", name: 2, email: "" });
  });

  test("of many that want one unique value one gets it", async () => {
    const outcomes = await Promise.all([...Array(20).keys()].map((n) =>
      container().items.create(person(`race-${n}`, { email: "race" }))
        .then((answer) => answer.statusCode, (error) => error.code)));
    assert.equal(outcomes.filter((code) => code === 201).length, 1);
    assert.equal(outcomes.filter((code) => code === 409).length, 19);
  });

  test("unique keys cannot be changed later", async () => {
    const { resource } = await container().read();
    await fails(container().replace(
      { ...resource, uniqueKeyPolicy: { uniqueKeys: [] } }), 400);
    const { resource: same } = await container().replace(
      { ...resource, defaultTtl: 1000 });
    assert.deepEqual(same.uniqueKeyPolicy, uniqueKeyPolicy);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-unique" });
  const { container } = await database.containers.create(
    { id: "c", partitionKey: { paths: ["/pk"], version: 2 }, uniqueKeyPolicy });
  cases(() => container);
};
