// users.js -- users, permissions, and clients that have no key but a token.
"use strict";
const { PermissionMode } = require("@azure/cosmos");
const { test, fails, assert } = require("./harness");

const pk2 = { paths: ["/pk"], version: 2 };

function userCases({ client }) {
  let db;

  test("a user is created, read, renamed, listed and deleted", async () => {
    ({ database: db } = await client.databases.create({ id: "js-users" }));
    const made = await db.users.create({ id: "ann" });
    assert.equal(made.statusCode, 201);
    assert.equal(made.resource._permissions, "permissions/");
    assert.equal(Buffer.from(made.resource._rid.replace(/-/g, "/"), "base64")
      .length, 8);
    assert.deepEqual((await made.user.read()).resource, made.resource);
    await fails(db.users.create({ id: "ann" }), 409);
    const renamed = await made.user.replace({ id: "anna" });
    assert.equal(renamed.resource._rid, made.resource._rid);
    assert.notEqual(renamed.resource._etag, made.resource._etag);
    await fails(db.user("ann").read(), 404);
    await db.users.create({ id: "bob" });
    await fails(db.user("bob").replace({ id: "anna" }), 409);
    const { resources } = await db.users.readAll().fetchAll();
    assert.deepEqual(resources.map((each) => each.id), ["anna", "bob"]);
    const { resources: found } = await db.users.query({
      query: "SELECT * FROM root r WHERE r.id=@id",
      parameters: [{ name: "@id", value: "bob" }],
    }).fetchAll();
    assert.deepEqual(found.map((each) => each.id), ["bob"]);
    assert.equal((await db.users.upsert({ id: "bob" })).statusCode, 200);
    assert.equal((await db.users.upsert({ id: "cid" })).statusCode, 201);
    assert.equal((await db.user("anna").delete()).statusCode, 204);
    await fails(db.user("anna").read(), 404);
    await fails(client.database("js-no").users.create({ id: "u" }), 404);
  });

  test("a permission lives like any other resource", async () => {
    const { container } =
      await db.containers.create({ id: "c", partitionKey: pk2 });
    const { user } = await db.users.create({ id: "dee" });
    const wish = { id: "p", permissionMode: PermissionMode.All,
      resource: container.url };
    const made = await user.permissions.create(wish);
    assert.equal(made.statusCode, 201);
    assert.equal(made.resource.permissionMode, PermissionMode.All);
    assert.equal(made.resource.resource, container.url);
    assert.match(made.resource._token, /^type=resource&ver=1&sig=/);
    const read = await made.permission.read();
    assert.equal(read.resource._etag, made.resource._etag);
    assert.match(read.resource._token, /^type=resource&ver=1&sig=/);
    await fails(user.permissions.create({ ...wish, id: "other" }), 409);
    await user.permissions.create({ ...wish, id: "keyed",
      resourcePartitionKey: ["x"] });
    const renamed = await made.permission.replace({ ...wish, id: "q" });
    assert.equal(renamed.resource._rid, made.resource._rid);
    await fails(made.permission.read(), 404);
    const { resources } = await user.permissions.readAll().fetchAll();
    assert.deepEqual(resources.map((each) => each.id), ["q", "keyed"]);
    for (const each of resources) assert.ok(each._token);
    const { resources: found } = await user.permissions.query(
      "SELECT * FROM p WHERE p.id = 'q'").fetchAll();
    assert.ok(found.length === 1 && found[0]._token);
    assert.equal((await user.permissions.upsert({ ...wish, id: "q" }))
      .statusCode, 200);
    assert.equal((await user.permission("q").delete()).statusCode, 204);
    assert.equal((await user.permissions.create(wish)).statusCode, 201);
  });

  test("a permission for nothing that can be had is refused", async () => {
    const { user } = await db.users.create({ id: "eve" });
    const wish = { id: "p", permissionMode: "all", resource: "dbs/a/colls/b" };
    for (const bad of [{ permissionMode: "most" }, { permissionMode: 1 },
      { permissionMode: undefined }, { resource: "dbs/a" }, { resource: "x" },
      { resource: "dbs/a/colls" }, { resource: 7 }, { resource: undefined },
      { resource: "dbs/a/users/b" }, { resourcePartitionKey: "x" },
      { resourcePartitionKey: [] }])
      await fails(user.permissions.create({ ...wish, ...bad }), 400);
    for (const seconds of [0, 9, 18001, 1e9])
      await fails(user.permissions.create(wish,
        { resourceTokenExpirySeconds: seconds, initialHeaders:
          { "x-ms-documentdb-expiry-seconds": String(seconds) } }), 400);
  });
}

function tokenCases({ client, connect }) {
  let db, c, d, user;

  // A client that has only a token for what the permission is for.
  async function holder(wish, options) {
    const { resource } = await user.permissions.upsert(
      { id: `${wish.permissionMode}-${Math.random()}`, ...wish }, options);
    const other = connect({ key: undefined, tokenProvider:
      async () => resource._token });
    return { resource, other, c: other.database(db.id).container("c"),
      d: other.database(db.id).container("d") };
  }

  async function drop(resource) {
    await user.permission(resource.id).delete();
  }

  test("a token for reading a container reads all in it", async () => {
    ({ database: db } = await client.databases.create({ id: "js-tokens" }));
    ({ container: c } = await db.containers.create(
      { id: "c", partitionKey: pk2 }));
    ({ container: d } = await db.containers.create(
      { id: "d", partitionKey: pk2 }));
    ({ user } = await db.users.create({ id: "u" }));
    for (const pk of ["x", "y"])
      for (const id of ["1", "2"]) await c.items.create({ id, pk });
    const h = await holder({ permissionMode: "read", resource: c.url });
    assert.equal((await h.c.read()).resource.id, "c");
    assert.equal((await h.c.item("1", "x").read()).resource.id, "1");
    assert.equal((await h.c.items.readAll().fetchAll()).resources.length, 4);
    const { resources } = await h.c.items.query(
      "SELECT VALUE COUNT(1) FROM c").fetchAll();
    assert.deepEqual(resources, [4]);
    await fails(h.c.items.create({ id: "3", pk: "x" }), 403);
    await fails(h.c.item("1", "x").delete(), 403);
    await fails(h.c.delete(), 403);
    await fails(h.d.read(), 403);
    await fails(h.other.database(db.id).read(), 403);
    await fails(h.other.databases.readAll().fetchAll(), 403);
    await fails(h.other.database(db.id).container("none").read(), 403);
    await drop(h.resource);
  });

  test("a token for all of a container writes in it", async () => {
    const h = await holder({ permissionMode: "All", resource: c.url });
    assert.equal((await h.c.items.create({ id: "new", pk: "x" })).statusCode,
      201);
    assert.equal((await h.c.item("new", "x").replace(
      { id: "new", pk: "x", n: 1 })).statusCode, 200);
    assert.equal((await h.c.item("new", "x").delete()).statusCode, 204);
    await fails(h.d.items.create({ id: "new", pk: "x" }), 403);
    await fails(h.other.database(db.id).users.create({ id: "z" }), 403);
    await fails(h.other.offers.readAll().fetchAll(), 403);
    await drop(h.resource);
  });

  test("a token for one partition key keeps to it", async () => {
    const { resource: byRid } = await c.read();
    const h = await holder({ permissionMode: "all", resource: byRid._self,
      resourcePartitionKey: ["x"] });
    assert.equal((await h.c.item("1", "x").read()).statusCode, 200);
    await fails(h.c.item("1", "y").read(), 403);
    assert.equal((await h.c.items.create({ id: "n", pk: "x" })).statusCode, 201);
    await fails(h.c.items.create({ id: "n", pk: "y" }), 403);
    const { resources } = await h.c.items.query("SELECT * FROM c",
      { partitionKey: "x" }).fetchAll();
    assert.equal(resources.length, 3);
    await fails(h.c.items.query("SELECT * FROM c",
      { partitionKey: "y" }).fetchAll(), 403);
    await fails(h.c.items.query("SELECT * FROM c").fetchAll(), 403);
    await fails(h.c.delete(), 403);
    assert.equal((await h.c.read()).statusCode, 200);
    await c.item("n", "x").delete();
    await drop(h.resource);
  });

  test("a token for a document is for no other", async () => {
    const { resource: one } = await c.item("1", "x").read();
    for (const link of [`${c.url}/docs/1`, one._self]) {
      const h = await holder({ permissionMode: "all", resource: link,
        resourcePartitionKey: ["x"] });
      assert.equal((await h.c.item("1", "x").read()).resource.id, "1");
      assert.equal((await h.c.item("1", "x").replace(
        { id: "1", pk: "x", n: 2 })).statusCode, 200);
      await fails(h.c.item("2", "x").read(), 403);
      await fails(h.c.item("1", "y").read(), 403);
      await fails(h.c.items.create({ id: "5", pk: "x" },
        { partitionKey: "x" }), 403);
      await drop(h.resource);
    }
  });

  test("a token dies with its permission's change", async () => {
    const h = await holder({ permissionMode: "read", resource: c.url });
    assert.equal((await h.c.read()).statusCode, 200);
    const changed = { id: h.resource.id, permissionMode: "all",
      resource: c.url };
    const { resource } =
      await user.permission(h.resource.id).replace(changed);
    await fails(h.c.read(), 403);
    const again = connect({ key: undefined, tokenProvider:
      async () => resource._token });
    const mine = again.database(db.id).container("c");
    assert.equal((await mine.read()).statusCode, 200);
    await drop(resource);
    await fails(mine.read(), 403);
  });

  test("a token is not for a container that has taken the name", async () => {
    const wish = { id: "reborn", partitionKey: pk2 };
    const { container } = await db.containers.create(wish);
    const { resource } = await user.permissions.create(
      { id: "reborn", permissionMode: "read", resource: container.url });
    const other = connect({ key: undefined, tokenProvider:
      async () => resource._token });
    const mine = other.database(db.id).container("reborn");
    assert.equal((await mine.read()).statusCode, 200);
    await container.delete();
    await db.containers.create(wish);
    await fails(mine.read(), 403);
  });

  test("a token that was tampered with is none", async () => {
    const h = await holder({ permissionMode: "read", resource: c.url });
    const token = h.resource._token;
    for (const bad of [token.replace(/sig=./, (m) => m === "sig=A" ? "sig=B" :
      "sig=A"), token.slice(0, -8), `${token}x`, token.split(";")[0],
      "type=resource&ver=1&sig=;;"]) {
      const other = connect({ key: undefined, tokenProvider:
        async () => bad });
      await fails(other.database(db.id).container("c").read(), 401);
    }
    await drop(h.resource);
  });

  test("a client with resource tokens or a permission feed works", async () => {
    const { resource } = await user.permissions.create(
      { id: "feed", permissionMode: "all", resource: c.url });
    const byToken = connect({ key: undefined,
      resourceTokens: { [c.url]: resource._token } });
    assert.equal((await byToken.database(db.id).container("c").read())
      .statusCode, 200);
    const { resources: feed } = await user.permissions.readAll().fetchAll();
    const byFeed = connect({ key: undefined, permissionFeed:
      feed.filter((each) => each.id === "feed") });
    const mine = byFeed.database(db.id).container("c");
    assert.equal((await mine.items.create({ id: "fed", pk: "x" })).statusCode,
      201);
    assert.equal((await mine.item("fed", "x").delete()).statusCode, 204);
  });
}

module.exports = (context) => {
  userCases(context);
  tokenCases(context);
};
