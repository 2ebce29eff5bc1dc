// throttled.js -- more work than the throughput covers, all of it done.
//
// What is spent too much in one second is owed by the next ones, so a large
// document leaves a debt of seconds.  A machine that stalls for longer than
// that sees it paid: the debt is made again, until a request has met it.
"use strict";
const { test, fails, assert } = require("./harness");

module.exports = ({ client, connect }) => {
  let c;

  const runIntoDebt = async (container) => {
    await container.items.upsert(
      { id: "large", pk: "x", text: "x".repeat(200000) });
  };

  test("the client repeats what was throttled until it is done", async () => {
    const { database } = await client.databases.create({ id: "js-throttled" });
    ({ container: c } = await database.containers.create(
      { id: "c", partitionKey: { paths: ["/pk"], version: 2 } }));
    let repeated = 0;
    let done = 0;
    for (; repeated === 0 && done < 50; done++) {
      await runIntoDebt(c);
      const answer = await c.items.create({ id: String(done), pk: "x" });
      assert.equal(answer.statusCode, 201);
      repeated = Number(answer.headers["x-ms-throttle-retry-count"]);
    }
    assert.ok(repeated > 0);
    const { resources } = await c.items.query(
      "SELECT VALUE COUNT(1) FROM c").fetchAll();
    assert.deepEqual(resources, [done + 1]);
  });

  test("a client that does not repeat gets 429/3200", async () => {
    const hasty = connect({ connectionPolicy: { retryOptions: {
      maxRetryAttemptCount: 0 }, enableBackgroundEndpointRefreshing: false } })
      .database("js-throttled").container("c");
    let refusal;
    for (let i = 0; !refusal && i < 50; i++) {
      await runIntoDebt(c);
      await hasty.items.upsert({ id: "1", pk: "x" }).catch((error) => {
        refusal = error;
      });
    }
    assert.ok(refusal);
    await fails(Promise.reject(refusal), 429, 3200);
    assert.ok(refusal.retryAfterInMs > 0);
  });
};
