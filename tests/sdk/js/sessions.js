// sessions.js -- consistency levels and session tokens, as the client asks.
"use strict";
const { ConsistencyLevel } = require("@azure/cosmos");
const { test, fails, assert } = require("./harness");

module.exports = ({ client, connect }) => {
  const at = (level) => connect({ consistencyLevel: level })
    .database("js-sessions").container("c");
  let c;

  test("any level up to the account's is met, a stronger is refused", async () => {
    const { database } = await client.databases.create({ id: "js-sessions" });
    ({ container: c } = await database.containers.create(
      { id: "c", partitionKey: { paths: ["/pk"], version: 2 } }));
    await c.items.create({ id: "1", pk: "x" });
    for (const level of [ConsistencyLevel.Eventual,
      ConsistencyLevel.ConsistentPrefix, ConsistencyLevel.Session]) {
      assert.equal((await at(level).item("1", "x").read()).statusCode, 200);
      assert.equal((await at(level).items.readAll().fetchAll()).resources
        .length, 1);
    }
    for (const level of [ConsistencyLevel.BoundedStaleness,
      ConsistencyLevel.Strong]) {
      const error = await fails(at(level).item("1", "x").read(), 400);
      assert.match(error.message, /is invalid when service is configured/);
      await fails(at(level).items.query("SELECT * FROM c").fetchAll(), 400);
    }
  });

  test("a session reads its own writes, in lists and queries too", async () => {
    const mine = at(ConsistencyLevel.Session);
    for (let i = 0; i < 5; i++) {
      await mine.items.create({ id: `s${i}`, pk: "s" });
      assert.equal((await mine.item(`s${i}`, "s").read()).statusCode, 200);
      const { resources } = await mine.items.query("SELECT * FROM c",
        { partitionKey: "s" }).fetchAll();
      assert.equal(resources.length, i + 1);
    }
  });

  test("answers of lists and queries carry a session token", async () => {
    const list = await c.items.readAll({ partitionKey: "x" }).fetchNext();
    assert.match(list.headers["x-ms-session-token"], /^0:-1#\d+$/);
    const found = await c.items.query("SELECT * FROM c",
      { partitionKey: "x" }).fetchNext();
    assert.match(found.headers["x-ms-session-token"], /^0:-1#\d+$/);
  });

  // That the server says 404/1002 is tested without a client between
  // (tests/rest/sessions.py): this one then asks again without the token.
  test("the client gets over a token from the future", async () => {
    const mine = at(ConsistencyLevel.Session);
    const read = await mine.item("1", "x").read({ sessionToken: "0:-1#99999" });
    assert.equal(read.statusCode, 200);
  });

  test("a token is taken in every form, and an odd one refused", async () => {
    const mine = at(ConsistencyLevel.Session);
    for (const sessionToken of ["x", "0", "0:", "0:-1#x"])
      await fails(mine.item("1", "x").read({ sessionToken }), 400);
    for (const sessionToken of ["0:-1#1", "9:-1#99999", "0:-1#1#0=1", "0:1",
      "0:-1#1,", "0:-1#1,1:-1#2"]) {
      assert.equal((await mine.item("1", "x").read({ sessionToken })).statusCode,
        200);
      await mine.items.query("SELECT * FROM c",
        { sessionToken, partitionKey: "x" }).fetchAll();
    }
  });
};
