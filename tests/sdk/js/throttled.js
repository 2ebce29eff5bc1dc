// throttled.js -- more work than the throughput covers, all of it done.
"use strict";
const { test, fails, assert } = require("./harness");

module.exports = ({ client, connect }) => {
  let c;

  test("the client repeats what was throttled until it is done", async () => {
    const { database } = await client.databases.create({ id: "js-throttled" });
    ({ container: c } = await database.containers.create(
      { id: "c", partitionKey: { paths: ["/pk"], version: 2 } }));
    // About 6.3 units each: more than two seconds' worth of 400.
    const answers = await Promise.all(Array.from({ length: 150 }, (_, i) =>
      c.items.create({ id: String(i), pk: "x" })));
    assert.ok(answers.every((each) => each.statusCode === 201));
    assert.ok(answers.some((each) =>
      Number(each.headers["x-ms-throttle-retry-count"]) > 0));
    const { resources } = await c.items.query(
      "SELECT VALUE COUNT(1) FROM c").fetchAll();
    assert.deepEqual(resources, [150]);
  });

  test("a client that does not repeat is told 429/3200", async () => {
    const hasty = connect({ connectionPolicy: { retryOptions: {
      maxRetryAttemptCount: 0 }, enableBackgroundEndpointRefreshing: false } })
      .database("js-throttled").container("c");
    const outcomes = await Promise.allSettled(Array.from({ length: 200 }, () =>
      hasty.items.upsert({ id: "1", pk: "x" })));
    const refused = outcomes.filter((each) => each.status === "rejected");
    assert.ok(refused.length > 0);
    await fails(Promise.reject(refused[0].reason), 429, 3200);
    assert.ok(refused[0].reason.retryAfterInMs > 0);
  });
};
