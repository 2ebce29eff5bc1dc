// Users.java -- throughput, users, permissions, and clients that have no key
// but a token.
//
// Refusals are left to the other clients: this one fails in its own retry policy
// when a request about a user or an offer is refused.
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosUser;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPermissionProperties;
import com.azure.cosmos.models.CosmosUserProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PermissionMode;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

final class Users {
    private static final PartitionKey X = new PartitionKey("x");
    private static final CosmosItemRequestOptions NONE = null;

    private Users() {}

    // Only the asynchronous client knows permissions.
    static void test(CosmosClient client, CosmosAsyncClient async,
            String endpoint) {
        Harness.test("throughput is given, read and replaced",
            () -> testOffers(client));
        Harness.test("users and permissions live like other resources",
            () -> testUsers(client, async));
        Harness.test("a token admits what its permission says",
            () -> testTokens(client, async, endpoint));
    }

    private static void testOffers(CosmosClient client) throws Exception {
        client.createDatabase("java-offers",
            ThroughputProperties.createAutoscaledThroughput(4000));
        CosmosDatabase database = client.getDatabase("java-offers");
        Harness.equal(database.readThroughput().getProperties()
            .getAutoscaleMaxThroughput(), 4000);
        database.replaceThroughput(
            ThroughputProperties.createAutoscaledThroughput(6000));
        Harness.equal(database.readThroughput().getProperties()
            .getAutoscaleMaxThroughput(), 6000);
        database.createContainer("c", "/pk",
            ThroughputProperties.createManualThroughput(500));
        CosmosContainer c = database.getContainer("c");
        Harness.equal(c.readThroughput().getProperties().getManualThroughput(),
            500);
        Harness.equal(c.readThroughput().getMinThroughput(), 400);
        Harness.equal(c.replaceThroughput(
            ThroughputProperties.createManualThroughput(900)).getProperties()
            .getManualThroughput(), 900);
    }

    private static void testUsers(CosmosClient client,
            CosmosAsyncClient async) throws Exception {
        client.createDatabase("java-users");
        CosmosDatabase database = client.getDatabase("java-users");
        database.createContainer("c", "/pk");
        database.createUser(new CosmosUserProperties().setId("ann"));
        CosmosUser user = database.getUser("ann");
        Harness.equal(user.read().getProperties().getId(), "ann");
        user.replace(user.read().getProperties().setId("anna"));
        CosmosUser anna = database.getUser("anna");
        Harness.equal(database.readAllUsers().stream().count(), 1L);
        Harness.equal(database.queryUsers(
            "SELECT * FROM u WHERE u.id = 'anna'", null).stream().count(), 1L);
        CosmosAsyncUser same = async.getDatabase("java-users").getUser("anna");
        same.createPermission(new CosmosPermissionProperties().setId("p")
            .setPermissionMode(PermissionMode.READ).setContainerName("c"), null)
            .block();
        Harness.equal(same.getPermission("p").read(null).block().getProperties()
            .getPermissionMode(), PermissionMode.READ);
        Harness.equal(same.readAllPermissions().count().block(), 1L);
        same.upsertPermission(new CosmosPermissionProperties().setId("p")
            .setPermissionMode(PermissionMode.ALL).setContainerName("c"), null)
            .block();
        Harness.equal(same.queryPermissions(
            "SELECT * FROM p WHERE p.id = 'p'").count().block(), 1L);
        same.getPermission("p").replace(same.getPermission("p").read(null).block()
            .getProperties().setPermissionMode(PermissionMode.READ), null)
            .block();
        Harness.equal(same.getPermission("p").read(null).block().getProperties()
            .getPermissionMode(), PermissionMode.READ);
        same.getPermission("p").delete(null).block();
        Harness.equal(anna.delete().getStatusCode(), 204);
        Harness.equal(database.readAllUsers().stream().count(), 0L);
        database.upsertUser(new CosmosUserProperties().setId("ben"));
        Harness.equal(database.getUser("ben").read().getProperties().getId(),
            "ben");
    }

    private static void testTokens(CosmosClient client,
            CosmosAsyncClient async, String endpoint) throws Exception {
        client.createDatabase("java-tokens");
        CosmosDatabase database = client.getDatabase("java-tokens");
        database.createContainer("c", "/pk");
        database.createUser(new CosmosUserProperties().setId("u"));
        CosmosPermissionProperties granted = async.getDatabase("java-tokens")
            .getUser("u").createPermission(new CosmosPermissionProperties()
                .setId("p").setPermissionMode(PermissionMode.ALL)
                .setContainerName("c").setResourcePartitionKey(X), null)
            .block().getProperties();
        try (CosmosClient other = new CosmosClientBuilder().endpoint(endpoint)
                .resourceToken(granted.getToken()).gatewayMode().buildClient()) {
            CosmosContainer c =
                other.getDatabase("java-tokens").getContainer("c");
            ObjectNode body = JsonNodeFactory.instance.objectNode()
                .put("id", "1").put("pk", "x");
            Harness.equal(c.createItem(body, X, NONE).getStatusCode(), 201);
            Harness.equal(c.readItem("1", X, ObjectNode.class).getItem()
                .get("id").asText(), "1");
            Harness.fails(403, 0, () -> c.createItem(body.deepCopy()
                .put("pk", "y"), new PartitionKey("y"), NONE));
            Harness.fails(403, 0, () -> other.createDatabase("no"));
        }
    }
}
