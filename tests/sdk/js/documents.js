// documents.js -- single documents: their life, conditions, ids and limits.
"use strict";
const { test, fails, assert } = require("./harness");

const ids = [
  "Test",
  "This is a test",
  " Test",
  "   Test",
  "Test ",
  "Test   ",
  "WithUnicode\u9c40",
  "WithAllowedSpecial,=.:~+-@()^${}[]!_Chars",
  "BASE64_0123456789abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ==",
  "Disallowed?Chars",
  "With\rReturn",
  "With\tTab",
  "With\nNewline",
  "WithPercent%20",
  "WithPercentTwice%E9%B1%80",
  "With%Percent",
  "With\"Quote'and`tick",
  "With<angles>|pipe;semi&and*",
  "\u{1f600}",
  "\u007f",
  "x".repeat(1023),
];

async function lifeOf(container, id) {
  const made = await container.items.create({ id, pk: "p", n: 1 });
  assert.equal(made.statusCode, 201, "create");
  assert.equal(made.resource.id, id);
  const item = container.item(id, "p");
  assert.equal((await item.read()).resource?.n, 1, "read");
  const replaced = await item.replace({ id, pk: "p", n: 2 });
  assert.equal(replaced.statusCode, 200, "replace");
  assert.equal((await item.read()).resource?.n, 2, "read again");
  assert.equal((await item.delete()).statusCode, 204, "delete");
  assert.equal((await item.read()).statusCode, 404, "read once more");
}

function lifeCases(container) {
  test("a document is created, read, replaced and deleted", async () => {
    await lifeOf(container(), "life");
  });

  test("a document gets its system properties", async () => {
    const { resource: doc, etag } = await container().items.create(
      { id: "system", pk: "p" });
    const { resource: coll } = await container().read();
    const bytes = Buffer.from(doc._rid.replaceAll("-", "/"), "base64");
    const prefix = Buffer.from(coll._rid.replaceAll("-", "/"), "base64");
    assert.equal(bytes.length, 16);
    assert.deepEqual(bytes.subarray(0, 8), prefix);
    assert.equal(doc._self, `${coll._self}docs/${doc._rid}/`);
    assert.equal(doc._etag, etag);
    assert.equal(doc._attachments, "attachments/");
    assert.ok(Math.abs(doc._ts - Date.now() / 1000) < 60);
    const { resource: next } = await container().item("system", "p").replace(
      { id: "system", pk: "p", n: 2 });
    assert.equal(next._rid, doc._rid);
    assert.notEqual(next._etag, doc._etag);
  });

  test("a document comes back exactly as it was written", async () => {
    const body = { id: "exact", pk: "p", empty: "", nil: null, yes: true,
      big: 9007199254740991, tiny: 5e-324, neg: -0.5, "": 1,
      text: "\u0000\u001f\"\\/\u2028\u{1f600}", deep: [[[{ a: [] }]], {}] };
    await container().items.create(body);
    const { resource } = await container().item("exact", "p").read();
    for (const name of Object.keys(body))
      assert.deepEqual(resource[name], body[name], name);
  });

  test("a duplicate id is a conflict only in the same partition", async () => {
    await container().items.create({ id: "twice", pk: "a" });
    const error = await fails(
      container().items.create({ id: "twice", pk: "a" }), 409);
    assert.ok(error.body.message.length > 0);
    await container().items.create({ id: "twice", pk: "b" });
  });

  test("an upsert says whether it created or replaced", async () => {
    const first = await container().items.upsert({ id: "up", pk: "p", n: 1 });
    assert.equal(first.statusCode, 201);
    const second = await container().items.upsert({ id: "up", pk: "p", n: 2 });
    assert.equal(second.statusCode, 200);
    assert.equal(second.resource._rid, first.resource._rid);
    assert.equal((await container().item("up", "p").read()).resource.n, 2);
  });

  test("an absent document is not found with sub-status 0", async () => {
    const item = container().item("absent", "p");
    const read = await item.read();
    assert.equal(read.statusCode, 404);
    assert.equal(read.substatus || 0, 0);
    const error = await fails(item.replace({ id: "absent", pk: "p" }), 404);
    assert.match(error.message, /^Entity with the specified id does not exist/);
    assert.match(error.message, /Resource Not Found/);
    await fails(item.delete(), 404);
  });

  test("an absent container is not found with sub-status 1003", async () => {
    const none = container().database.container("none");
    const error = await fails(none.items.create({ id: "x", pk: "p" }), 404);
    assert.ok(error.body.message.length > 0);
    const read = await none.item("x", "p").read();
    assert.equal(read.statusCode, 404);
    assert.equal(read.substatus, 1003);
  });
}

function conditionCases(container) {
  test("if-match guards replace, upsert and delete", async () => {
    const { resource: old, item } = await container().items.create(
      { id: "guard", pk: "p", n: 1 });
    const guard = (condition) => ({ accessCondition:
      { type: "IfMatch", condition } });
    const body = { id: "guard", pk: "p", n: 2 };
    const { resource: now } = await item.replace(body, guard(old._etag));
    const late = await fails(item.replace(body, guard(old._etag)), 412);
    assert.match(late.message, /specified pre-condition is not met/);
    await fails(container().items.upsert(body, guard(old._etag)), 412);
    await fails(item.delete(guard(old._etag)), 412);
    assert.equal((await item.read()).resource._etag, now._etag);
    const up = await container().items.upsert(body, guard(now._etag));
    assert.equal(up.statusCode, 200);
    assert.equal((await item.delete(guard("*"))).statusCode, 204);
  });

  test("if-none-match answers 304 without a body", async () => {
    const { resource: doc, item } = await container().items.create(
      { id: "fresh", pk: "p" });
    const unless = (condition) => ({ accessCondition:
      { type: "IfNoneMatch", condition } });
    const same = await item.read(unless(doc._etag));
    assert.equal(same.statusCode, 304);
    assert.equal(same.resource, null);
    assert.equal(same.headers.etag, doc._etag);
    await item.replace({ id: "fresh", pk: "p", n: 2 });
    const other = await item.read(unless(doc._etag));
    assert.equal(other.statusCode, 200);
    assert.equal(other.resource.n, 2);
  });

  test("answers carry a session token that reads accept", async () => {
    const made = await container().items.create({ id: "session", pk: "p" });
    const token = made.headers["x-ms-session-token"];
    assert.match(token, /^\d+:-1#\d+$/);
    assert.ok(Number(made.headers["x-ms-request-charge"]) > 0);
    assert.match(made.headers["x-ms-activity-id"], /^[0-9a-f-]{36}$/);
    const read = await container().item("session", "p").read(
      { sessionToken: token, consistencyLevel: "Session" });
    assert.equal(read.statusCode, 200);
  });
}

function idCases(container) {
  for (const id of ids) {
    const shown = JSON.stringify(id.slice(0, 80)).replaceAll("#", "");
    test(`an id may be ${shown}`, () => lifeOf(container(), id));
  }

  test("an illegal id is refused with 400", async () => {
    // The client refuses / \ and # by itself; the rest is the server's.
    for (const id of ["a/b", "a\\b", "a#b"]) {
      await assert.rejects(container().items.create({ id, pk: "p" }));
      await assert.rejects(container().items.upsert({ id, pk: "p" }));
    }
    await fails(container().items.create({ id: "x".repeat(1024), pk: "p" }), 400);
    const { resource } = await container().items.create({ pk: "p" });
    assert.match(resource.id, /^[0-9a-f-]{36}$/);
  });
}

function limitCases(container, ttlContainer) {
  test("an item's ttl is a positive whole number or -1", async () => {
    const { items } = ttlContainer();
    for (const ttl of [0, -10, null, 1.5, "5", true, 2147483648])
      await fails(items.create({ id: "ttl", pk: "p", ttl }), 400);
    for (const ttl of [-1, 1000, 2147483647])
      assert.equal((await items.upsert({ id: "ttl", pk: "p", ttl })).resource.ttl,
        ttl);
  });

  test("a document over 2 MB is refused with 413", async () => {
    const text = "x".repeat(2 * 1024 * 1024);
    await fails(container().items.create({ id: "big", pk: "p", text }), 413);
    await fails(container().items.upsert({ id: "big", pk: "p", text }), 413);
    assert.equal((await container().item("big", "p").read()).statusCode, 404);
    const made = await container().items.create(
      { id: "big", pk: "p", text: text.slice(4096) });
    assert.equal(made.statusCode, 201);
    const { resource } = await container().item("big", "p").read();
    assert.equal(resource.text.length, text.length - 4096);
  });

  test("a body over every limit is refused and the client goes on", async () => {
    const text = "x".repeat(5 * 1024 * 1024);
    for (let i = 0; i < 20; i++)
      await fails(container().items.create({ id: "huge", pk: "p", text }), 413);
    await lifeOf(container(), "after-huge");
  });

  test("many documents are written at once", async () => {
    const numbers = [...Array(100).keys()];
    await Promise.all(numbers.map((n) =>
      container().items.create({ id: `many-${n}`, pk: n % 7, n })));
    const read = await Promise.all(numbers.map((n) =>
      container().item(`many-${n}`, n % 7).read()));
    assert.deepEqual(read.map((each) => each.resource.n), numbers);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-documents" });
  const partitionKey = { paths: ["/pk"], version: 2 };
  const { container } = await database.containers.create(
    { id: "c", partitionKey });
  const { container: ttl } = await database.containers.create(
    { id: "ttl", partitionKey, defaultTtl: -1 });
  lifeCases(() => container);
  conditionCases(() => container);
  idCases(() => container);
  limitCases(() => container, () => ttl);
};
