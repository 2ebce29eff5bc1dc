// objects.js -- databases, containers, their definitions and their ranges.
"use strict";
const { test, fails, assert } = require("./harness");

function checkSystem(resource, children) {
  assert.match(resource._rid, /^[A-Za-z0-9+-]+={0,2}$/);
  assert.ok(resource._self.endsWith(`${resource._rid}/`), resource._self);
  assert.match(resource._etag, /^".+"$/);
  assert.ok(Math.abs(resource._ts - Date.now() / 1000) < 60);
  for (const child of children) assert.equal(resource[`_${child}`], `${child}/`);
}

function databaseCases({ client, connect }) {
  test("a database is created, read, listed and deleted", async () => {
    const made = await client.databases.create({ id: "js-life" });
    assert.equal(made.statusCode, 201);
    checkSystem(made.resource, ["colls", "users"]);
    const read = await made.database.read();
    assert.equal(read.statusCode, 200);
    assert.deepEqual(read.resource, made.resource);
    const { resources } = await client.databases.readAll().fetchAll();
    assert.ok(resources.some((each) => each.id === "js-life"));
    assert.equal((await made.database.delete()).statusCode, 204);
    await fails(made.database.read(), 404);
  });

  test("a database is created once", async () => {
    const first = await client.databases.createIfNotExists({ id: "js-once" });
    assert.equal(first.statusCode, 201);
    const again = await client.databases.createIfNotExists({ id: "js-once" });
    assert.equal(again.statusCode, 200);
    assert.equal(again.resource._rid, first.resource._rid);
    await fails(client.databases.create({ id: "js-once" }), 409);
  });

  test("an absent database is not found", async () => {
    await fails(client.database("js-no").read(), 404);
    await fails(client.database("js-no").delete(), 404);
    await fails(client.database("js-no").containers.create({ id: "c" }), 404);
    await fails(client.database("js-no").containers.readAll().fetchAll(), 404);
  });

  test("databases are listed in pages of the size asked for", async () => {
    for (let i = 0; i < 5; i++) await client.databases.create({ id: `js-p${i}` });
    const pages = client.databases.readAll({ maxItemCount: 2 });
    const seen = [];
    while (pages.hasMoreResults()) {
      const { resources } = await pages.fetchNext();
      assert.ok((resources || []).length <= 2);
      seen.push(...(resources || []).map((each) => each.id));
    }
    for (let i = 0; i < 5; i++)
      assert.equal(seen.filter((id) => id === `js-p${i}`).length, 1);
  });

  test("a wrong key is refused with 401", async () => {
    const other = connect({ key: Buffer.alloc(64, 7).toString("base64") });
    await fails(other.databases.readAll().fetchAll(), 401);
    await fails(other.database("js-once").read(), 401);
  });

  test("the account has its locations and consistency", async () => {
    const { resource } = await client.getDatabaseAccount();
    assert.equal(resource.consistencyPolicy, "Session");
    assert.ok(resource.writableLocations.length === 1);
  });
}

function containerCases({ client }) {
  let db;

  test("a container is created, read, listed and deleted", async () => {
    ({ database: db } = await client.databases.create({ id: "js-containers" }));
    const made = await db.containers.create({
      id: "life",
      partitionKey: { paths: ["/pk"], version: 2 },
    });
    assert.equal(made.statusCode, 201);
    checkSystem(made.resource,
      ["docs", "sprocs", "triggers", "udfs", "conflicts"]);
    assert.equal(Buffer.from(made.resource._rid, "base64").length, 8);
    const read = await made.container.read();
    assert.equal(read.statusCode, 200);
    assert.deepEqual(read.resource, made.resource);
    const { resources } = await db.containers.readAll().fetchAll();
    assert.deepEqual(resources.map((each) => each.id), ["life"]);
    assert.equal((await made.container.delete()).statusCode, 204);
    await fails(made.container.read(), 404);
    await fails(made.container.delete(), 404);
  });

  test("a container is created once", async () => {
    const wish = { id: "once", partitionKey: "/pk" };
    assert.equal((await db.containers.createIfNotExists(wish)).statusCode, 201);
    assert.equal((await db.containers.createIfNotExists(wish)).statusCode, 200);
    await fails(db.containers.create(wish), 409);
  });

  test("a container comes back with the default policies", async () => {
    const { resource } = await db.containers.create({
      id: "defaults",
      partitionKey: { paths: ["/pk"], version: 2 },
    });
    assert.deepEqual(resource.partitionKey,
      { paths: ["/pk"], kind: "Hash", version: 2 });
    assert.deepEqual(resource.indexingPolicy, {
      indexingMode: "consistent",
      automatic: true,
      includedPaths: [{ path: "/*" }],
      excludedPaths: [{ path: '/"_etag"/?' }],
    });
    assert.equal(resource.conflictResolutionPolicy.mode, "LastWriterWins");
    assert.equal(resource.conflictResolutionPolicy.conflictResolutionPath, "/_ts");
    assert.deepEqual(resource.geospatialConfig, { type: "Geography" });
    assert.equal("defaultTtl" in resource, false);
  });

  test("a container comes back with the policies it was given", async () => {
    const composite = [[
      { path: "/name", order: "ascending" },
      { path: "/age", order: "descending" },
    ]];
    const { container } = await db.containers.create({
      id: "given",
      partitionKey: { paths: ["/pk"], version: 2 },
      defaultTtl: 1000,
      uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/a", "/b/c"] }] },
      indexingPolicy: {
        indexingMode: "Consistent",
        automatic: true,
        includedPaths: [{ path: "/*" }],
        excludedPaths: [{ path: "/secret/*" }],
        compositeIndexes: composite,
      },
    });
    const { resource } = await container.read();
    assert.equal(resource.defaultTtl, 1000);
    assert.deepEqual(resource.uniqueKeyPolicy.uniqueKeys.map((k) => k.paths),
      [["/a", "/b/c"]]);
    assert.equal(resource.indexingPolicy.indexingMode, "consistent");
    assert.deepEqual(resource.indexingPolicy.excludedPaths,
      [{ path: "/secret/*" }, { path: '/"_etag"/?' }]);
    assert.deepEqual(resource.indexingPolicy.compositeIndexes, composite);
  });

  test("an empty indexing policy becomes the default one", async () => {
    const { resource } = await db.containers.create({
      id: "empty-policy",
      partitionKey: "/pk",
      indexingPolicy: {},
    });
    assert.deepEqual(resource.indexingPolicy.includedPaths, [{ path: "/*" }]);
    assert.deepEqual(resource.indexingPolicy.excludedPaths,
      [{ path: '/"_etag"/?' }]);
  });

  test("a container's policies are replaced, its key is not", async () => {
    const { container, resource } = await db.containers.create({
      id: "replaced",
      partitionKey: { paths: ["/pk"], version: 2 },
    });
    const changed = await container.replace({
      id: "replaced",
      partitionKey: resource.partitionKey,
      defaultTtl: -1,
      indexingPolicy: { ...resource.indexingPolicy, automatic: false,
                        indexingMode: "none", includedPaths: [],
                        excludedPaths: [] },
    });
    assert.equal(changed.statusCode, 200);
    const { resource: now } = await container.read();
    assert.equal(now.defaultTtl, -1);
    assert.equal(now.indexingPolicy.indexingMode, "none");
    assert.equal(now._rid, resource._rid);
    assert.notEqual(now._etag, resource._etag);
    await fails(container.replace({
      id: "replaced",
      partitionKey: { paths: ["/other"], version: 2 },
    }), 400);
  });

  test("a bad container definition is refused with 400", async () => {
    const bad = [
      { id: "b", partitionKey: { paths: ["id"] } },
      { id: "b", partitionKey: { paths: ["/id ds"] } },
      { id: "b", partitionKey: { paths: ["/a", "/b"], kind: "Hash" } },
      { id: "b", partitionKey: { paths: ["/a", "/b", "/c", "/d"],
                                 kind: "MultiHash", version: 2 } },
      { id: "b", partitionKey: "/pk", defaultTtl: 0 },
      { id: "b", partitionKey: "/pk", defaultTtl: -2 },
      { id: "b", partitionKey: "/pk", defaultTtl: 1.5 },
      { id: "b", partitionKey: "/pk", defaultTtl: "7" },
    ];
    for (const wish of bad) await fails(db.containers.create(wish), 400);
    await fails(db.container("b").read(), 404);
  });

  test("names with blanks and any script serve databases and containers",
    async () => {
      const { database } = await client.databases.create({ id: "Db Öne 鱀" });
      const made = await database.containers.create({
        id: "Coll %20 +&=鱀", partitionKey: "/pk" });
      const { container } = made;
      assert.equal((await container.items.create({ id: "x", pk: 1 })).statusCode,
        201);
      assert.equal((await container.item("x", 1).read()).statusCode, 200);
      assert.equal((await database.read()).resource.id, "Db Öne 鱀");
      assert.equal((await container.read()).resource.id, "Coll %20 +&=鱀");
      assert.equal((await database.delete()).statusCode, 204);
      await fails(container.read(), 404);
    });

  test("a throughput wish gives ranges that cover all keys", async () => {
    const { container } = await db.containers.create({
      id: "ranges", partitionKey: { paths: ["/pk"], version: 2 },
      throughput: 30000 });
    const { resources } = await container.readPartitionKeyRanges().fetchAll();
    assert.ok(resources.length > 1, `${resources.length} ranges`);
    resources.sort((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
    assert.equal(resources[0].minInclusive, "");
    assert.equal(resources.at(-1).maxExclusive, "FF");
    for (let i = 1; i < resources.length; i++)
      assert.equal(resources[i].minInclusive, resources[i - 1].maxExclusive);
  });

  test("a deleted database takes its containers along", async () => {
    const { database } = await client.databases.create({ id: "js-gone" });
    const { container } = await database.containers.create({
      id: "c", partitionKey: "/pk" });
    await container.items.create({ id: "x", pk: 1 });
    await database.delete();
    await client.databases.create({ id: "js-gone" });
    await fails(container.read(), 404);
    await database.containers.create({ id: "c", partitionKey: "/pk" });
    assert.equal((await container.item("x", 1).read()).statusCode, 404);
  });
}

module.exports = async (context) => {
  databaseCases(context);
  containerCases(context);
};
