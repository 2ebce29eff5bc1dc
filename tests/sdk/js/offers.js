// offers.js -- throughput: given, read, found, replaced, and gone.
"use strict";
const { test, fails, assert } = require("./harness");

function checkOffer(offer, container) {
  assert.equal(offer.offerVersion, "V2");
  assert.equal(offer.offerType, "Invalid");
  assert.equal(offer.resource, container._self);
  assert.equal(offer.offerResourceId, container._rid);
  assert.equal(offer.id, offer._rid);
  assert.match(offer.id, /^[A-Za-z0-9+-]{4}$/);
  assert.equal(offer._self, `offers/${offer.id}/`);
}

module.exports = ({ client }) => {
  let db;
  const definition = (id, rest) =>
    ({ id, partitionKey: { paths: ["/pk"], version: 2 }, ...rest });
  const units = async (resource) =>
    (await resource.readOffer()).resource?.content;

  test("a container without a wish has an offer of 400", async () => {
    ({ database: db } = await client.databases.create({ id: "js-offers" }));
    const { container, resource } =
      await db.containers.create(definition("plain"));
    const { resource: offer } = await container.readOffer();
    checkOffer(offer, resource);
    assert.deepEqual(offer.content, {
      offerThroughput: 400,
      offerIsRUPerMinuteThroughputEnabled: false,
      offerMinimumThroughputParameters: {
        maxThroughputEverProvisioned: 400,
        maxConsumedStorageEverInKB: 0,
      },
    });
  });

  test("an offer is read, listed, queried and replaced", async () => {
    const { container } =
      await db.containers.create(definition("manual", { throughput: 500 }));
    const { resource: offer } = await container.readOffer();
    assert.equal(offer.content.offerThroughput, 500);
    const { resource: read } = await client.offer(offer.id).read();
    assert.deepEqual(read, offer);
    const { resources: all } = await client.offers.readAll().fetchAll();
    assert.equal(all.filter((each) => each.id === offer.id).length, 1);
    const { resources: found } = await client.offers.query({
      query: "select * FROM root r WHERE r.id=@id",
      parameters: [{ name: "@id", value: offer.id }],
    }).fetchAll();
    assert.deepEqual(found, [offer]);
    const { resources: byRid } = await client.offers.query(
      "select * from c where c.offerResourceId = " +
        `"${offer.offerResourceId}"`).fetchAll();
    assert.deepEqual(byRid, [offer]);

    offer.content.offerThroughput = 900;
    const replaced = await client.offer(offer.id).replace(offer);
    assert.equal(replaced.statusCode, 200);
    assert.equal(replaced.headers["x-ms-offer-replace-pending"], "false");
    assert.equal(replaced.headers["x-ms-cosmos-min-throughput"], "400");
    assert.equal(replaced.resource.content.offerThroughput, 900);
    assert.equal(replaced.resource.content.offerMinimumThroughputParameters
      .maxThroughputEverProvisioned, 900);
    assert.notEqual(replaced.resource._etag, offer._etag);
    assert.equal((await units(container)).offerThroughput, 900);
  });

  test("a wish that cannot be met is refused", async () => {
    for (const throughput of [0.5, 399, -200, 450, 1e9])
      await fails(db.containers.create(definition("bad", { throughput })), 400);
    const low = await fails(db.containers.create(
      definition("bad", { maxThroughput: -200 })), 400);
    assert.match(low.message,
      /Requested throughput -200 is less than required minimum throughput 1000/);
    await fails(db.containers.create(
      definition("bad", { maxThroughput: 1500 })), 400);
    const { container } = await db.containers.create(definition("refusing"));
    const { resource: offer } = await container.readOffer();
    for (const wish of [300, 405, "500", null]) {
      offer.content.offerThroughput = wish;
      await fails(client.offer(offer.id).replace(offer), 400);
    }
    await fails(client.offer("zzzz").read(), 404);
    assert.equal((await units(container)).offerThroughput, 400);
  });

  test("autoscale is given, raised and not lowered too far", async () => {
    const { container } = await db.containers.create(
      definition("autoscale", { maxThroughput: 4000 }));
    const { resource: offer } = await container.readOffer();
    assert.deepEqual(offer.content.offerAutopilotSettings,
      { maxThroughput: 4000, maximumTierThroughput: 4000 });
    assert.equal(offer.content.offerThroughput, 400);
    offer.content.offerAutopilotSettings.maxThroughput = 20000;
    await client.offer(offer.id).replace(offer);
    assert.equal((await units(container)).offerAutopilotSettings.maxThroughput,
      20000);
    offer.content.offerAutopilotSettings.maxThroughput = 1000;
    await fails(client.offer(offer.id).replace(offer), 400);
    delete offer.content.offerAutopilotSettings;
    await fails(client.offer(offer.id).replace(offer), 400);
  });

  test("an offer moves between manual and autoscale by a header", async () => {
    const { container } =
      await db.containers.create(definition("moving", { throughput: 1500 }));
    const { resource: offer } = await container.readOffer();
    const move = (to) => client.offer(offer.id).replace(offer,
      { initialHeaders: { [`x-ms-cosmos-migrate-offer-to-${to}`]: "true" } });
    await move("autopilot");
    assert.equal((await units(container)).offerAutopilotSettings.maxThroughput,
      2000);
    await move("manual-throughput");
    assert.equal((await units(container)).offerThroughput, 2000);
    assert.equal((await units(container)).offerAutopilotSettings, undefined);
  });

  test("containers share the throughput of their database", async () => {
    const { database } = await client.databases.create(
      { id: "js-shared", throughput: 600 });
    const { resource: offer } = await database.readOffer();
    assert.equal(offer.content.offerThroughput, 600);
    const { container: sharing } =
      await database.containers.create(definition("sharing"));
    assert.equal((await sharing.readOffer()).resource, undefined);
    const { container: own } = await database.containers.create(
      definition("own", { throughput: 700 }));
    assert.equal((await units(own)).offerThroughput, 700);
    assert.equal((await db.readOffer()).resource, undefined);
  });

  test("an offer goes with what it is of", async () => {
    const { database } = await client.databases.create(
      { id: "js-going", throughput: 600 });
    const { container } = await database.containers.create(
      definition("own", { throughput: 700 }));
    const { resource: of_container } = await container.readOffer();
    const { resource: of_database } = await database.readOffer();
    await container.delete();
    await fails(client.offer(of_container.id).read(), 404);
    const { container: again } = await database.containers.create(
      definition("own", { throughput: 700 }));
    const { resource: of_again } = await again.readOffer();
    await database.delete();
    await fails(client.offer(of_again.id).read(), 404);
    await fails(client.offer(of_database.id).read(), 404);
  });
};
