// Main.java -- everyday work with the published client, and what must outlive a
// kill.
//
//   java Main ENDPOINT everyday|write|reopened|stranger
//   java Main ENDPOINT hosts     those that Processor.java kills
//
// Method: each case uses names of its own.  This client reads the ranges of a
// container by its _rid, parses every x-ms-content-path, compares the session
// tokens of answers, and wants no content back for writes.
import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.ThroughputProperties;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLHandshakeException;

public final class Main {
    // The key that all emulators share; public.
    private static final String KEY =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMs"
        + "EcaGQy67XIw/Jw==";
    private static final int COUNT = 200;
    private static final PartitionKey P = new PartitionKey("p");
    private static final CosmosItemRequestOptions NONE = null;

    private Main() {}

    private static CosmosClientBuilder builder(String endpoint, String key) {
        return new CosmosClientBuilder().endpoint(endpoint).key(key)
            .gatewayMode().consistencyLevel(ConsistencyLevel.SESSION);
    }

    private static CosmosClient connect(String endpoint, String key) {
        return builder(endpoint, key).buildClient();
    }

    // The change feed processor wants its writes back.
    private static CosmosAsyncClient answering(String endpoint) {
        return builder(endpoint, KEY).contentResponseOnWriteEnabled(true)
            .buildAsyncClient();
    }

    private static ObjectNode document(String id) {
        return JsonNodeFactory.instance.objectNode().put("id", id);
    }

    private static CosmosDatabase database(CosmosClient client, String id) {
        client.createDatabase(id);
        return client.getDatabase(id);
    }

    private static CosmosContainer container(CosmosDatabase database,
            CosmosContainerProperties properties) {
        database.createContainer(properties,
            ThroughputProperties.createManualThroughput(30000));
        return database.getContainer(properties.getId());
    }

    private static ObjectNode read(CosmosContainer from, String id,
            PartitionKey key) {
        return from.readItem(id, key, ObjectNode.class).getItem();
    }

    private static void testObjects(CosmosClient client, String endpoint) {
        Harness.test("a database is created once, read, listed and deleted",
            () -> {
                CosmosDatabase life = database(client, "java-life");
                Harness.fails(409, 3206,
                    () -> client.createDatabase("java-life"));
                Harness.equal(client.createDatabaseIfNotExists("java-life")
                    .getStatusCode(), 200);
                Harness.equal(life.read().getProperties().getId(), "java-life");
                Harness.equal(client.readAllDatabases().stream()
                    .filter(each -> each.getId().equals("java-life")).count(),
                    1L);
                Harness.equal(life.delete().getStatusCode(), 204);
                Harness.fails(404, 0, life::read);
            });
        Harness.test("a container is created, read, replaced and deleted",
            () -> testContainer(database(client, "java-containers")));
        Harness.test("a wrong key is refused with 401", () -> {
            String wrong = Base64.getEncoder().encodeToString(new byte[64]);
            try (CosmosClient other = connect(endpoint, wrong)) {
                other.createDatabase("no");
            } catch (RuntimeException refused) {
                // It reads the account first, and wraps the error that it got.
                if (refused.getMessage().contains("\"statusCode\":401"))
                    return;
                throw refused;
            }
            throw new AssertionError("it was accepted");
        });
    }

    private static void testContainer(CosmosDatabase database) throws Exception {
        CosmosContainerProperties wish =
            new CosmosContainerProperties("life", "/pk");
        wish.setDefaultTimeToLiveInSeconds(1000);
        wish.setUniqueKeyPolicy(new UniqueKeyPolicy().setUniqueKeys(
            List.of(new UniqueKey(List.of("/a", "/b/c")))));
        CosmosContainer life = container(database, wish);
        Harness.fails(409, 0, () -> database.createContainer(wish));
        CosmosContainerProperties found = life.read().getProperties();
        Harness.equal(found.getDefaultTimeToLiveInSeconds(), 1000);
        Harness.equal(found.getUniqueKeyPolicy().getUniqueKeys().get(0)
            .getPaths(), List.of("/a", "/b/c"));
        Harness.equal(found.getIndexingPolicy().getExcludedPaths().get(0)
            .getPath(), "/\"_etag\"/?");
        found.setDefaultTimeToLiveInSeconds(-1);
        life.replace(found);
        Harness.equal(life.read().getProperties()
            .getDefaultTimeToLiveInSeconds(), -1);
        Harness.equal(database.readAllContainers().stream().count(), 1L);
        List<FeedRange> ranges = life.getFeedRanges();
        if (ranges.size() < 2)
            throw new AssertionError(ranges);
        Harness.equal(life.delete().getStatusCode(), 204);
        Harness.fails(404, 0, life::read);
    }

    private static void testDocuments(CosmosClient client) {
        CosmosDatabase database = database(client, "java-documents");
        CosmosContainer c = container(database,
            new CosmosContainerProperties("c", "/pk"));
        ObjectNode body = document("d").put("pk", "p");

        Harness.test("a document is created, read, replaced and deleted", () -> {
            CosmosItemResponse<ObjectNode> made = c.createItem(body, P, NONE);
            Harness.equal(made.getStatusCode(), 201);
            Harness.equal(made.getItem(), null);
            Harness.equal(read(c, "d", P).get("_etag").asText(), made.getETag());
            Harness.fails(409, 0, () -> c.createItem(body, P, NONE));
            c.replaceItem(body.deepCopy().put("n", 2), "d", P, NONE);
            Harness.equal(read(c, "d", P).get("n").asInt(), 2);
            Harness.equal(c.upsertItem(body).getStatusCode(), 200);
            Harness.equal(c.deleteItem("d", P, NONE).getStatusCode(), 204);
            Harness.equal(c.upsertItem(body).getStatusCode(), 201);
            Harness.fails(404, 0, () -> read(c, "absent", P));
        });
        Harness.test("conditions guard writes and spare reads",
            () -> testConditions(c));
        Harness.test("a document of an absent container is not found", () ->
            Harness.fails(404, 0, () -> read(database.getContainer("none"), "x", P)));
        Harness.test("a key that does not match is refused with 400/1001", () ->
            Harness.fails(400, 1001, () -> c.createItem(
                document("m").put("pk", "other"), P, NONE)));
        Harness.test("a document over 2 MB is refused with 413", () ->
            Harness.fails(413, 0, () -> c.createItem(document("b").put("pk", "p")
                .put("t", "x".repeat(2 << 20)), P, NONE)));
        for (String id : List.of("This is a test", " Test", "WithUnicode\u9c40",
                "WithAllowedSpecial,=.:~+-@()^${}[]!_Chars", "With%Percent",
                "WithPercent%20", "With\"Quote'and`tick",
                "With<angles>|pipe;semi&and*", "\ud83d\ude00"))
            Harness.test("an id may be \"" + id + "\"", () -> {
                c.createItem(document(id).put("pk", "p"), P, NONE);
                Harness.equal(read(c, id, P).get("id").asText(), id);
                c.deleteItem(id, P, NONE);
                Harness.fails(404, 0, () -> read(c, id, P));
            });
    }

    private static void testConditions(CosmosContainer c) throws Exception {
        ObjectNode body = document("guard").put("pk", "p");
        String old = c.createItem(body, P, NONE).getETag();
        CosmosItemRequestOptions stale =
            new CosmosItemRequestOptions().setIfMatchETag(old);
        String now = c.replaceItem(body, "guard", P, stale).getETag();
        Harness.fails(412, 0, () -> c.replaceItem(body, "guard", P, stale));
        Harness.fails(412, 0, () -> c.deleteItem("guard", P, stale));
        Harness.equal(c.readItem("guard", P, new CosmosItemRequestOptions()
            .setIfNoneMatchETag(now), ObjectNode.class).getStatusCode(), 304);
        c.deleteItem("guard", P, new CosmosItemRequestOptions()
            .setIfMatchETag(now));
    }

    private static void testKeys(CosmosClient client) {
        CosmosDatabase database = database(client, "java-keys");
        List<Object> values = List.of("p", "", "\u9c40\ud83d\ude00", "a\"b\\c\n",
            0, -1.5, 1e300, true, false, PartitionKey.NONE);

        for (PartitionKeyDefinitionVersion version
                : PartitionKeyDefinitionVersion.values())
            Harness.test("keys of every type work with hash version " + version,
                () -> {
                    CosmosContainer c = container(database,
                        new CosmosContainerProperties("c" + version,
                            new PartitionKeyDefinition().setVersion(version)
                                .setPaths(List.of("/pk"))));
                    for (Object value : values) {
                        ObjectNode body = document("x");
                        if (value != PartitionKey.NONE)
                            body.putPOJO("pk", value);
                        c.createItem(body, keyOf(value), NONE);
                    }
                    for (Object value : values)
                        Harness.equal(read(c, "x", keyOf(value)).has("pk"),
                            value != PartitionKey.NONE);
                });
        Harness.test("a hierarchical key works, and not with a part missing",
            () -> testTree(database));
    }

    private static PartitionKey keyOf(Object value) {
        return value == PartitionKey.NONE ? PartitionKey.NONE
                                          : new PartitionKey(value);
    }

    private static void testTree(CosmosDatabase database) throws Exception {
        CosmosContainer c = container(database, new CosmosContainerProperties(
            "tree", new PartitionKeyDefinition().setKind(PartitionKind.MULTI_HASH)
                .setVersion(PartitionKeyDefinitionVersion.V2)
                .setPaths(List.of("/a", "/b", "/c"))));
        PartitionKey full = new PartitionKeyBuilder().add("x").add(1).add(true)
            .build();
        PartitionKey part = new PartitionKeyBuilder().add("x").add(1).build();
        c.createItem(document("t").put("a", "x").put("b", 1).put("c", true),
            full, NONE);
        Harness.equal(read(c, "t", full).get("b").asInt(), 1);
        Harness.fails(400, 1001, () -> read(c, "t", part));
    }

    private static void testWrite(CosmosClient client) {
        Harness.test("documents are written before the server is killed", () -> {
            CosmosContainer c = container(database(client, "java-durable"),
                new CosmosContainerProperties("kept", "/pk"));
            for (int n = 0; n < COUNT; n++)
                c.createItem(document("d" + n).put("pk", n % 10).put("n", n));
        });
    }

    private static void testReopened(CosmosClient client) {
        Harness.test("every acknowledged write outlived the kill", () -> {
            CosmosContainer c =
                client.getDatabase("java-durable").getContainer("kept");
            for (int n = 0; n < COUNT; n++)
                Harness.equal(read(c, "d" + n, new PartitionKey(n % 10))
                    .get("n").asInt(), n);
        });
    }

    // For a client that does not trust the server's authority.
    private static void testStranger(String endpoint) {
        Harness.test("a server whose authority is not known is refused", () -> {
            try (CosmosClient other = connect(endpoint, KEY)) {
                other.createDatabase("no");
            } catch (RuntimeException refused) {
                for (Throwable cause = refused; cause != null;
                        cause = cause.getCause())
                    if (cause instanceof SSLHandshakeException)
                        return;
                throw refused;
            }
            throw new AssertionError("it was trusted");
        });
    }

    private static void testEveryday(CosmosClient client, String endpoint)
            throws Exception {
        testObjects(client, endpoint);
        testDocuments(client);
        Control control = new Control(endpoint, KEY);
        try (CosmosAsyncClient async = builder(endpoint, KEY)
                .buildAsyncClient()) {
            Users.test(client, async, endpoint);
            Others.test(client, async);
        }
        testKeys(client);
        Feed.test(client);
        Batch.test(container(database(client, "java-batch"),
            new CosmosContainerProperties("c", "/pk")));
        Queries.test(client);
        try (CosmosClient hasty = builder(endpoint, KEY).throttlingRetryOptions(
                new ThrottlingRetryOptions()
                    .setMaxRetryAttemptsOnThrottledRequests(0)).buildClient()) {
            Faults.test(client, hasty, control);
        }
        try (CosmosAsyncClient async = answering(endpoint)) {
            Processor.test(async, endpoint, KEY);
        }
        Others.testExpiry(client, control);
    }

    public static void main(String[] args) throws Exception {
        if (args[1].equals("stranger")) {
            testStranger(args[0]);
            System.exit(Harness.failed == 0 ? 0 : 1);
        }
        try (CosmosClient client = connect(args[0], KEY)) {
            switch (args[1]) {
            case "everyday":
                testEveryday(client, args[0]);
                break;
            case "hosts":
                try (CosmosAsyncClient async = answering(args[0])) {
                    Processor.hosts(async);
                }
                break;
            case "write":
                testWrite(client);
                break;
            default:
                testReopened(client);
            }
        }
        System.exit(Harness.failed == 0 ? 0 : 1);
    }
}
