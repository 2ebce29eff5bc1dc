// others.js -- client encryption keys, and the lists that are empty: conflicts
// and scripts.
"use strict";
const { test, fails, assert } = require("./harness");

// Wraps keys by turning their bytes over.
const resolver = {
  encryptionKeyResolverName: "TEST_STORE",
  wrapKey: async (_id, _algorithm, key) => Buffer.from(key).reverse(),
  unwrapKey: async (_id, _algorithm, key) => Buffer.from(key).reverse(),
};

module.exports = ({ client, connect }) => {
  let db, c;

  test("a client encryption key is created, read and rewrapped", async () => {
    ({ database: db } = await client.databases.create({ id: "js-others" }));
    const other = connect({ clientEncryptionOptions:
      { keyEncryptionKeyResolver: resolver } });
    const there = other.database("js-others");
    const metadata = { type: "TEST_STORE", name: "k", value: "v1",
      algorithm: "RSA-OAEP" };
    const made = await there.createClientEncryptionKey("key",
      "AEAD_AES_256_CBC_HMAC_SHA256", metadata);
    assert.equal(made.statusCode, 201);
    assert.equal(made.resource.keyWrapMetadata.value, "v1");
    const read = await there.readClientEncryptionKey("key");
    assert.deepEqual(Buffer.from(read.resource.wrappedDataEncryptionKey),
      Buffer.from(made.resource.wrappedDataEncryptionKey));
    const again = await there.rewrapClientEncryptionKey("key",
      { ...metadata, value: "v2" });
    assert.equal(again.statusCode, 200);
    assert.equal((await there.readClientEncryptionKey("key")).resource
      .keyWrapMetadata.value, "v2");
    await fails(there.createClientEncryptionKey("key",
      "AEAD_AES_256_CBC_HMAC_SHA256", metadata), 409);
    await fails(there.readClientEncryptionKey("none"), 404);
    other.dispose();
  });

  test("the conflicts feed is there and empty", async () => {
    ({ container: c } = await db.containers.create(
      { id: "c", partitionKey: { paths: ["/pk"], version: 2 } }));
    assert.deepEqual((await c.conflicts.readAll().fetchAll()).resources, []);
    assert.deepEqual((await c.conflicts.query("SELECT * FROM c").fetchAll())
      .resources, []);
    await fails(c.conflict("x", "p").delete(), 404);
    await fails(db.container("no").conflicts.readAll().fetchAll(), 404);
  });

  test("scripts are none, and cannot be made", async () => {
    const { storedProcedures, triggers, userDefinedFunctions } = c.scripts;
    for (const each of [storedProcedures, triggers, userDefinedFunctions]) {
      assert.deepEqual((await each.readAll().fetchAll()).resources, []);
      assert.deepEqual((await each.query("SELECT * FROM s").fetchAll())
        .resources, []);
      const error = await fails(each.create({ id: "s", body: "function(){}",
        triggerType: "pre", triggerOperation: "all" }), 400);
      assert.match(error.message, /not supported/);
    }
    await fails(c.scripts.storedProcedure("s").read(), 404);
    await fails(c.scripts.storedProcedure("s").execute("p", []), 404);
    await fails(c.scripts.trigger("t").delete(), 404);
    await fails(c.scripts.userDefinedFunction("u").replace(
      { id: "u", body: "x" }), 404);
  });
};
