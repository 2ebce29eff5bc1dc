// Others.java -- what is asked for less often: queries of databases and
// containers, documents whose time ends, unique values, deletes by partition
// key, client encryption keys, and the lists that are empty.
//
// That a second key of one name is refused is left to another client: this one
// fails in its own retry policy then.
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.models.CosmosClientEncryptionKeyProperties;
import com.azure.cosmos.models.CosmosConflictRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.EncryptionKeyWrapMetadata;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

final class Others {
    private static final PartitionKey P = new PartitionKey("p");
    private static final CosmosItemRequestOptions NONE = null;

    private Others() {}

    private static ObjectNode document(String id, String pk) {
        return JsonNodeFactory.instance.objectNode().put("id", id).put("pk", pk);
    }

    private static CosmosContainer make(CosmosDatabase database, String id,
            Integer ttl) {
        CosmosContainerProperties wish =
            new CosmosContainerProperties(id, "/pk");
        wish.setDefaultTimeToLiveInSeconds(ttl);
        database.createContainer(wish);
        return database.getContainer(id);
    }

    private static List<String> ids(CosmosContainer c, PartitionKey key) {
        return c.readAllItems(key, ObjectNode.class).stream()
            .map(each -> each.get("id").asText()).sorted()
            .collect(Collectors.toList());
    }

    // After all that looks at the time: the server's clock is turned by days.
    static void testExpiry(CosmosClient client, Control control) {
        client.createDatabase("java-ttl");
        CosmosDatabase database = client.getDatabase("java-ttl");

        Harness.test("an item goes at the end of its ttl",
            () -> testOwn(make(database, "own", -1), control));
        Harness.test("an item without a ttl has that of its container",
            () -> testDefault(make(database, "default", 10000), control));
    }

    static void test(CosmosClient client, CosmosAsyncClient async) {
        client.createDatabase("java-others");
        CosmosDatabase database = client.getDatabase("java-others");
        CosmosAsyncDatabase same = async.getDatabase("java-others");

        Harness.test("databases and containers are queried",
            () -> testQueries(client));
        Harness.test("a unique value is refused to a second document",
            () -> testUnique(database));
        Harness.test("all items of a partition key are deleted",
            () -> testPurge(make(database, "purge", null)));
        Harness.test("a client encryption key is created, read and rewrapped",
            () -> testEncryption(database, same));
        Harness.test("the conflicts feed is there and empty",
            () -> testConflicts(same.getContainer("purge")));
        Harness.test("scripts are none, and cannot be made",
            () -> testScripts(database.getContainer("purge").getScripts()));
    }

    private static void testQueries(CosmosClient client) {
        client.createDatabaseIfNotExists("java-listed");
        CosmosDatabase database = client.getDatabase("java-listed");
        for (String id : List.of("a", "b", "c"))
            Harness.equal(database.createContainerIfNotExists(id, "/pk")
                .getStatusCode(), 201);
        Harness.equal(database.createContainerIfNotExists("a", "/pk")
            .getStatusCode(), 200);
        Harness.equal(client.queryDatabases(
            "SELECT * FROM d WHERE d.id = 'java-listed'",
            new CosmosQueryRequestOptions()).stream().count(), 1L);
        Harness.equal(database.queryContainers(
            "SELECT * FROM c WHERE c.id > 'a'").stream()
            .map(CosmosContainerProperties::getId).sorted()
            .collect(Collectors.toList()), List.of("b", "c"));
    }

    private static void testOwn(CosmosContainer c, Control control)
            throws Exception {
        c.createItem(document("a", "p").put("ttl", 1000));
        c.createItem(document("b", "p").put("ttl", 100000));
        c.createItem(document("c", "p").put("ttl", -1));
        c.createItem(document("d", "p"));
        Harness.equal(ids(c, P), List.of("a", "b", "c", "d"));
        control.turnClock(1001);
        Harness.fails(404, 0, () -> c.readItem("a", P, ObjectNode.class));
        Harness.fails(404, 0, () -> c.deleteItem("a", P, NONE));
        Harness.equal(ids(c, P), List.of("b", "c", "d"));
        control.turnClock(100000);
        Harness.equal(ids(c, P), List.of("c", "d"));
    }

    private static void testDefault(CosmosContainer c, Control control)
            throws Exception {
        c.createItem(document("a", "p"));
        c.createItem(document("b", "p").put("ttl", 1000));
        c.createItem(document("c", "p").put("ttl", -1));
        control.turnClock(6000);
        Harness.equal(ids(c, P), List.of("a", "c"));
        c.upsertItem(document("a", "p")); // begins anew
        control.turnClock(6000);
        Harness.equal(ids(c, P), List.of("a", "c"));
        control.turnClock(6000);
        Harness.equal(ids(c, P), List.of("c"));
    }

    private static void testUnique(CosmosDatabase database) throws Exception {
        database.createContainer(new CosmosContainerProperties("unique", "/pk")
            .setUniqueKeyPolicy(new UniqueKeyPolicy().setUniqueKeys(
                List.of(new UniqueKey(List.of("/email"))))));
        CosmosContainer c = database.getContainer("unique");
        ObjectNode thief = document("c", "p").put("email", "x");
        c.createItem(document("a", "p").put("email", "x"));
        c.createItem(document("b", "p").put("email", "y"));
        Harness.fails(409, 0, () -> c.createItem(thief));
        Harness.fails(409, 0, () -> c.upsertItem(thief));
        Harness.fails(409, 0, () -> c.replaceItem(
            document("b", "p").put("email", "x"), "b", P, NONE));
        c.createItem(document("a", "q").put("email", "x"));
        c.deleteItem("a", P, NONE);
        c.createItem(thief);
    }

    private static void testPurge(CosmosContainer c) {
        for (int n = 0; n < 60; n++)
            c.createItem(document("d" + n, "k" + n % 3));
        Harness.equal(c.deleteAllItemsByPartitionKey(new PartitionKey("k1"),
            NONE).getStatusCode(), 200);
        Harness.equal(ids(c, new PartitionKey("k0")).size(), 20);
        Harness.equal(ids(c, new PartitionKey("k1")).size(), 0);
        Harness.equal(ids(c, new PartitionKey("k2")).size(), 20);
        c.createItem(document("d1", "k1"));
        Harness.equal(ids(c, new PartitionKey("k1")), List.of("d1"));
    }

    private static void testEncryption(CosmosDatabase database,
            CosmosAsyncDatabase same) {
        byte[] bytes = new byte[32];
        Arrays.fill(bytes, (byte)7);
        CosmosClientEncryptionKeyProperties wish =
            new CosmosClientEncryptionKeyProperties("key",
                "AEAD_AES_256_CBC_HMAC_SHA256", bytes,
                new EncryptionKeyWrapMetadata("STORE", "k", "v1", "RSA-OAEP"));
        same.createClientEncryptionKey(wish).block();
        CosmosClientEncryptionKeyProperties found =
            database.getClientEncryptionKey("key").read().getProperties();
        Harness.equal(Arrays.equals(found.getWrappedDataEncryptionKey(), bytes),
            true);
        Harness.equal(found.getEncryptionKeyWrapMetadata().getValue(), "v1");
        bytes[0] = 8;
        same.getClientEncryptionKey("key").replace(
            found.setWrappedDataEncryptionKey(bytes)
                .setEncryptionKeyWrapMetadata(new EncryptionKeyWrapMetadata(
                    "STORE", "k", "v2", "RSA-OAEP"))).block();
        found = same.getClientEncryptionKey("key").read().block()
            .getProperties();
        Harness.equal(found.getWrappedDataEncryptionKey()[0], (byte)8);
        Harness.equal(found.getEncryptionKeyWrapMetadata().getValue(), "v2");
        Harness.equal(database.readAllClientEncryptionKeys().stream().count(),
            1L);
        Harness.equal(same.queryClientEncryptionKeys(
            "SELECT * FROM k WHERE k.id = 'none'").count().block(), 0L);
    }

    private static void testConflicts(CosmosAsyncContainer c) throws Exception {
        CosmosConflictRequestOptions options =
            new CosmosConflictRequestOptions(P);
        Harness.equal(c.readAllConflicts(new CosmosQueryRequestOptions())
            .count().block(), 0L);
        Harness.equal(c.queryConflicts("SELECT * FROM c").count().block(), 0L);
        Harness.fails(404, 0, () -> c.getConflict("x").read(options).block());
        Harness.fails(404, 0, () -> c.getConflict("x").delete(options).block());
    }

    private static void testScripts(CosmosScripts scripts) throws Exception {
        String body = "function(){}";
        CosmosTriggerProperties trigger = new CosmosTriggerProperties("s", body);
        trigger.setTriggerType(TriggerType.PRE);
        trigger.setTriggerOperation(TriggerOperation.ALL);
        Harness.equal(scripts.readAllStoredProcedures().stream().count(), 0L);
        Harness.equal(scripts.readAllTriggers().stream().count(), 0L);
        Harness.equal(scripts.readAllUserDefinedFunctions().stream().count(),
            0L);
        Harness.fails(400, 0, () -> scripts.createStoredProcedure(
            new CosmosStoredProcedureProperties("s", body)));
        Harness.fails(400, 0, () -> scripts.createTrigger(trigger));
        Harness.fails(400, 0, () -> scripts.createUserDefinedFunction(
            new CosmosUserDefinedFunctionProperties("s", body)));
        Harness.fails(404, 0, () -> scripts.getStoredProcedure("s").read());
    }
}
