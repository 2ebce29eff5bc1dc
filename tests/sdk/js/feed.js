// feed.js -- the change feed by the client's two ways to read it.
//
// Every start and every scope, in containers of one range and of three: a
// reader gets each document once, and goes on from its token.
"use strict";
const { ChangeFeedMode, ChangeFeedStartFrom, StatusCodes } =
  require("@azure/cosmos");
const { test, fails, assert } = require("./harness");

const count = 40;

async function fill(container, from = 0) {
  for (let n = from; n < from + count; n++)
    await container.items.create({ id: `d${n}`, pk: `k${n % 8}`, n });
}

function ids(from = 0, step = 1, offset = 0) {
  const all = [];
  for (let n = from; n < from + count; n++)
    if (n % step === offset % step) all.push(`d${n}`);
  return all.sort();
}

// Reads to the first 304 of every range.
async function drain(container, options, ranges = 1) {
  const iterator = container.items.getChangeFeedIterator(options);
  const found = [];
  let token, quiet = 0;
  while (iterator.hasMoreResults && quiet <= ranges) {
    const page = await iterator.readNext();
    assert.ok(page.requestCharge > 0);
    if (page.statusCode === StatusCodes.NotModified) quiet++;
    else {
      quiet = 0;
      assert.ok(page.result.length > 0);
      for (const document of page.result) {
        assert.equal(typeof document._lsn, "number");
        found.push(document.id);
      }
    }
    token = page.continuationToken;
  }
  return { found: found.sort(), token };
}

function startCases(container, ranges) {
  const name = `of ${ranges} range${ranges > 1 ? "s" : ""}`;
  const start = (changeFeedStartFrom, more = {}) => ({
    maxItemCount: 7, changeFeedStartFrom, ...more });

  test(`a feed ${name} read from the beginning has everything once`, async () => {
    const { found } = await drain(container(),
      start(ChangeFeedStartFrom.Beginning()), ranges);
    assert.deepEqual(found, ids());
  });

  test(`a feed ${name} read from now has what comes after`, async () => {
    const now = await drain(container(), start(ChangeFeedStartFrom.Now()), ranges);
    assert.deepEqual(now.found, []);
    await fill(container(), 1000);
    const { found, token } = await drain(container(),
      start(ChangeFeedStartFrom.Continuation(now.token)), ranges);
    assert.deepEqual(found, ids(1000));
    const again = await drain(container(),
      start(ChangeFeedStartFrom.Continuation(token)), ranges);
    assert.deepEqual(again.found, []);
  });

  test(`a feed ${name} read from a time has what is as late`, async () => {
    const past = new Date(Date.now() - 3600e3), future = new Date(Date.now() + 3600e3);
    assert.deepEqual((await drain(container(),
      start(ChangeFeedStartFrom.Time(past)), ranges)).found,
    [...ids(), ...ids(1000)].sort());
    assert.deepEqual((await drain(container(),
      start(ChangeFeedStartFrom.Time(future)), ranges)).found, []);
  });

  test(`a feed ${name} read by key has that key's documents`, async () => {
    for (const key of ["k0", "k5"]) {
      const want = [...ids(0, 8, +key[1]), ...ids(1000, 8, +key[1])].sort();
      const { found, token } = await drain(container(),
        start(ChangeFeedStartFrom.Beginning(key), { maxItemCount: 2 }));
      assert.deepEqual(found, want);
      assert.deepEqual((await drain(container(),
        start(ChangeFeedStartFrom.Continuation(token)))).found, []);
      assert.deepEqual((await drain(container(),
        start(ChangeFeedStartFrom.Now(key)))).found, []);
    }
  });

  test(`a feed ${name} read by feed ranges is complete`, async () => {
    const parts = await container().getFeedRanges();
    assert.equal(parts.length, ranges);
    const found = [];
    for (const part of parts)
      found.push(...(await drain(container(),
        start(ChangeFeedStartFrom.Beginning(part)))).found);
    assert.deepEqual(found.sort(), [...ids(), ...ids(1000)].sort());
  });

  test(`the older feed ${name} of a key goes on from its etag`, async () => {
    const first = container().items.changeFeed("k3", { startFromBeginning: true });
    const page = await first.fetchNext();
    assert.deepEqual(page.result.map((d) => d.id).sort(),
      [...ids(0, 8, 3), ...ids(1000, 8, 3)].sort());
    assert.equal((await first.fetchNext()).statusCode, 304);
    const now = container().items.changeFeed("k3");
    const { headers } = await now.fetchNext();
    await container().items.upsert({ id: "late", pk: "k3" });
    const next = container().items.changeFeed("k3", { continuation: headers.etag });
    assert.deepEqual((await next.fetchNext()).result.map((d) => d.id), ["late"]);
    const timed = container().items.changeFeed("k3",
      { startTime: new Date(Date.now() - 3600e3) });
    assert.equal((await timed.fetchNext()).result.length, 11);
    await container().item("late", "k3").delete();
  });
}

function treeCases(database) {
  test("a feed of a prefix of a hierarchical key has what begins so", async () => {
    const { container } = await database().containers.create({ id: "tree",
      partitionKey: { paths: ["/a", "/b", "/c"], kind: "MultiHash", version: 2 },
      throughput: 30000 });
    for (let n = 0; n < 24; n++)
      await container.items.create({ id: `d${n}`, a: `a${n % 2}`, b: n % 3, c: n });
    for (const [prefix, size] of [[["a0"], 12], [["a1", 2], 4], [["none"], 0]]) {
      const { found } = await drain(container, { maxItemCount: 5,
        changeFeedStartFrom: ChangeFeedStartFrom.Beginning(prefix) });
      assert.equal(found.length, size, JSON.stringify(prefix));
    }
  });

  test("all versions and deletes are refused where they are not kept", async () => {
    const iterator = database().container("one").items.getChangeFeedIterator({
      changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
      changeFeedStartFrom: ChangeFeedStartFrom.Now() });
    const error = await fails(iterator.readNext(), 400);
    assert.match(error.message, /All Versions and Deletes.*must be enabled/);
  });
}

// Raised throughput splits ranges; the client must find its way by itself.
async function raise(container, units, ranges) {
  const { resource: offer } = await container.readOffer();
  offer.content.offerThroughput = units;
  await container.database.client.offer(offer.id).replace(offer);
  for (let tries = 0; tries < 3000; tries++) {
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    if (resources.length === ranges) return;
  }
  assert.fail("the ranges were not split");
}

function splitCases(database) {
  test("readers follow their ranges through splits", async () => {
    const { container } = await database().containers.create({ id: "split",
      partitionKey: { paths: ["/pk"], version: 2 } });
    await fill(container);
    const start = { maxItemCount: 7,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning() };
    const all = container.items.getChangeFeedIterator(start);
    const key = container.items.getChangeFeedIterator({ maxItemCount: 2,
      changeFeedStartFrom: ChangeFeedStartFrom.Beginning("k3") });
    const found = (await all.readNext()).result.map((d) => d.id);
    const ofKey = (await key.readNext()).result.map((d) => d.id);
    await raise(container, 30000, 3);
    await fill(container, 1000);
    const token = await follow(all, found, 4);
    await follow(key, ofKey, 1);
    assert.deepEqual(found.sort(), [...ids(), ...ids(1000)].sort());
    assert.deepEqual(ofKey.sort(), [...ids(0, 8, 3), ...ids(1000, 8, 3)].sort());
    await raise(container, 60000, 6);
    await fill(container, 2000);
    const rest = container.items.getChangeFeedIterator({ maxItemCount: 7,
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) });
    const later = [];
    await follow(rest, later, 7);
    assert.deepEqual(later.sort(), ids(2000));
  });

  test("the older iterator follows its key through splits", async () => {
    const { container } = await database().containers.create({ id: "older",
      partitionKey: { paths: ["/pk"], version: 2 } });
    await fill(container);
    const iterator = container.items.changeFeed("k3",
      { startFromBeginning: true, maxItemCount: 2 });
    const found = (await iterator.fetchNext()).result.map((d) => d.id);
    assert.equal(found.length, 2);
    await raise(container, 30000, 3);
    await fill(container, 1000);
    while (iterator.hasMoreResults)
      for (const { id } of (await iterator.fetchNext()).result ?? [])
        found.push(id);
    assert.deepEqual(found.sort(), [...ids(0, 8, 3), ...ids(1000, 8, 3)].sort());
  });
}

// Reads on until nothing came for so many pages.
async function follow(iterator, found, pages) {
  let token;
  for (let quiet = 0; quiet <= pages;) {
    const page = await iterator.readNext();
    quiet = page.statusCode === StatusCodes.NotModified ? quiet + 1 : 0;
    if (page.statusCode !== StatusCodes.NotModified)
      found.push(...page.result.map((d) => d.id));
    token = page.continuationToken;
  }
  return token;
}

module.exports = async ({ client }) => {
  let database;
  const boxes = {};

  test("containers for the feed are filled", async () => {
    ({ database } = await client.databases.create({ id: "js-feed" }));
    for (const [id, throughput] of [["one", 400], ["three", 30000]]) {
      ({ container: boxes[id] } = await database.containers.create({ id,
        partitionKey: { paths: ["/pk"], version: 2 }, throughput }));
      await fill(boxes[id]);
    }
  });
  startCases(() => boxes.one, 1);
  startCases(() => boxes.three, 3);
  treeCases(() => database);
  splitCases(() => database);
};
