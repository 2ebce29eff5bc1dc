// versions.js -- all versions and deletes, by the client's iterator.
"use strict";
const { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan,
  ChangeFeedStartFrom, StatusCodes } = require("@azure/cosmos");
const { test, fails, assert } = require("./harness");

const mode = ChangeFeedMode?.AllVersionsAndDeletes ?? "AllVersionsAndDeletes";

// Reads until every range has said twice that there is nothing more.
async function drain(iterator, ranges = 1) {
  const found = [];
  let token, quiet = 0;
  while (iterator.hasMoreResults && quiet < 2 * ranges) {
    const page = await iterator.readNext();
    token = page.continuationToken;
    if (page.statusCode === StatusCodes.NotModified) quiet++;
    else {
      quiet = 0;
      found.push(...page.result);
    }
  }
  return { found, token };
}

function cases(make) {
  test("all versions are read from now on, page by page", async () => {
    const container = await make("all");
    const iterate = (options) => container.items.getChangeFeedIterator(
      { changeFeedMode: mode, maxItemCount: 2, ...options });
    const { token } = await drain(iterate(
      { changeFeedStartFrom: ChangeFeedStartFrom.Now() }));
    const { resource: first } = await container.items.create(
      { id: "a", pk: "p", n: 1 });
    const { resource: second } = await container.item("a", "p").replace(
      { id: "a", pk: "p", n: 2 });
    await container.items.upsert({ id: "b", pk: "q" });
    await container.item("a", "p").delete();
    const { found } = await drain(iterate(
      { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) }));
    assert.deepEqual(found.map((f) => f.metadata.operationType),
      ["create", "replace", "create", "delete"]);
    assert.deepEqual(found[0].current, first);
    assert.deepEqual(found[1].current, second);
    assert.equal(found[1].metadata.previousImageLSN, found[0].metadata.lsn);
    assert.deepEqual(found[3].current, {});
    assert.equal(found[3].metadata.id, "a");
    assert.deepEqual(found[3].metadata.partitionKey, { pk: "p" });
    assert.equal(found[3].metadata.previousImageLSN, found[1].metadata.lsn);
    assert.ok(found.every((f) => f.metadata.crts > 0));
    assert.ok(found.every((f) => f.previous === undefined));
  });

  test("all versions are read of one key and over several ranges", async () => {
    const container = await make("ranges", 30000);
    const iterate = (start) => container.items.getChangeFeedIterator(
      { changeFeedMode: mode, changeFeedStartFrom: start });
    const whole = await drain(iterate(ChangeFeedStartFrom.Now()), 3);
    const mine = await drain(iterate(ChangeFeedStartFrom.Now("k1")));
    for (let n = 0; n < 21; n++)
      await container.items.create({ id: `${n}`, pk: `k${n % 7}` });
    for (let n = 0; n < 21; n++)
      await container.item(`${n}`, `k${n % 7}`).delete();
    const all = await drain(iterate(
      ChangeFeedStartFrom.Continuation(whole.token)), 3);
    assert.equal(all.found.length, 42);
    const one = await drain(iterate(
      ChangeFeedStartFrom.Continuation(mine.token)));
    assert.deepEqual(one.found.map((f) => f.metadata.id ?? f.current.id),
      ["1", "8", "15", "1", "8", "15"]);
  });

  test("all versions are refused from the beginning and without a policy",
    async () => {
      const container = await make("refused");
      const early = await fails(container.items.getChangeFeedIterator(
        { changeFeedMode: mode,
          changeFeedStartFrom: ChangeFeedStartFrom.Beginning() }).readNext(),
        400);
      assert.match(early.message, /from within the retention period\./);
      const plain = await make("plain", undefined, false);
      const error = await fails(plain.items.getChangeFeedIterator(
        { changeFeedMode: mode,
          changeFeedStartFrom: ChangeFeedStartFrom.Now() }).readNext(), 400);
      assert.match(error.message, /All Versions and Deletes/);
      assert.match(error.message, /must be enabled/);
    });

  test("a container has its change feed policy", async () => {
    const container = await make("policy");
    const { resource } = await container.read();
    assert.equal(resource.changeFeedPolicy.retentionDuration, 10);
  });
}

module.exports = async ({ client }) => {
  const { database } = await client.databases.create({ id: "js-versions" });
  cases(async (id, throughput, isKept = true) => (
    await database.containers.create({
      id,
      throughput,
      partitionKey: { paths: ["/pk"], version: 2 },
      ...(isKept && { changeFeedPolicy: new ChangeFeedPolicy(
        ChangeFeedRetentionTimeSpan.fromMinutes(10)) }),
    })).container);
};
