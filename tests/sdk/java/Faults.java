// Faults.java -- what the client makes of answers that say "not now", and of
// those that never come.  The server has orders to give them.
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;

final class Faults {
    private static final PartitionKey P = new PartitionKey("p");
    private static final CosmosItemRequestOptions NONE = null;
    private static final int[] GONE = {1002, 1007, 1008};

    private final Control control;
    private final CosmosContainer c;
    private int made;

    private Faults(Control control, CosmosContainer c) {
        this.control = control;
        this.c = c;
    }

    private static ObjectNode document(String id) {
        return JsonNodeFactory.instance.objectNode().put("id", id)
            .put("pk", "p");
    }

    private ObjectNode fresh() {
        return document("new-" + ++made);
    }

    private static String orderOf(String what) {
        return "\"path\":\"/dbs/java-faults/colls/c/docs\"," + what;
    }

    private static String orderOf(int status, int substatus) {
        return orderOf("\"status\":" + status + ",\"subStatus\":" + substatus);
    }

    private void create() {
        Harness.equal(c.createItem(fresh(), P, NONE).getStatusCode(), 201);
    }

    private List<Harness.Body> writes() {
        return List.of(this::create,
            () -> c.upsertItem(fresh()),
            () -> c.replaceItem(document("kept"), "kept", P, NONE),
            () -> c.patchItem("kept", P, CosmosPatchOperations.create()
                .set("/n", 1), ObjectNode.class),
            () -> {
                CosmosBatch batch = CosmosBatch.createCosmosBatch(P);
                batch.createItemOperation(fresh());
                Harness.equal(c.executeCosmosBatch(batch).getStatusCode(), 200);
            });
    }

    private void read() {
        c.readItem("kept", P, ObjectNode.class);
    }

    private void query() {
        Harness.equal(c.queryItems("SELECT * FROM c WHERE c.id = 'kept'",
            new CosmosQueryRequestOptions().setPartitionKey(P),
            ObjectNode.class).stream().count(), 1L);
    }

    private void merged() {
        Harness.equal(c.queryItems("SELECT TOP 1 * FROM c ORDER BY c.id",
            new CosmosQueryRequestOptions(), ObjectNode.class).stream().count(),
            1L);
    }

    private void list() {
        if (c.readAllItems(P, ObjectNode.class).stream().count() == 0)
            throw new AssertionError("nothing is listed");
    }

    private void many() {
        Harness.equal(c.readMany(List.of(new CosmosItemIdentity(P, "kept"),
            new CosmosItemIdentity(P, "none")), ObjectNode.class).getResults()
            .size(), 1);
    }

    private void feed() {
        if (c.queryChangeFeed(CosmosChangeFeedRequestOptions
                .createForProcessingFromBeginning(FeedRange.forFullRange()),
                ObjectNode.class).stream().count() == 0)
            throw new AssertionError("nothing is in the feed");
    }

    private List<Harness.Body> reads() {
        return List.of(this::read, this::query, this::merged, this::list,
            this::many, this::feed);
    }

    private List<Harness.Body> all() {
        List<Harness.Body> both = new ArrayList<>(reads());
        both.addAll(writes());
        return both;
    }

    private void done(int times, String order, List<Harness.Body> bodies)
            throws Exception {
        for (Harness.Body body : bodies)
            control.meets(times, order, body);
    }

    // Each operation ends with what it met; a document it was to make is none.
    private void reported(int status, int substatus, List<Harness.Body> bodies)
            throws Exception {
        for (Harness.Body body : bodies) {
            int before = made;
            Harness.fails(status, substatus, () -> control.meets(1,
                orderOf(status, substatus), body));
            if (made > before)
                Harness.fails(404, 0, () -> c.readItem("new-" + made, P,
                    ObjectNode.class));
        }
    }

    static void test(CosmosClient client, CosmosClient hasty, Control control) {
        client.createDatabase("java-faults");
        CosmosDatabase database = client.getDatabase("java-faults");
        database.createContainer("c", "/pk",
            ThroughputProperties.createManualThroughput(20000));
        CosmosContainer c = database.getContainer("c");
        c.createItem(document("kept"));
        Faults faults = new Faults(control, c);
        faults.testBusy(hasty.getDatabase("java-faults").getContainer("c"));
        faults.testGone();
        faults.testLost();
    }

    private void testBusy(CosmosContainer hasty) {
        Harness.test("what is throttled is repeated until it is done",
            () -> done(2, orderOf(429, 0), all()));
        Harness.test("one that does not repeat gets 429/3200 with a delay",
            () -> control.meets(1, orderOf(429, 0), () -> {
                try {
                    hasty.createItem(fresh(), P, NONE);
                } catch (CosmosException refused) {
                    Harness.equal(refused.getStatusCode(), 429);
                    Harness.equal(refused.getSubStatusCode(), 3200);
                    Harness.equal(refused.getRetryAfterDuration().isZero(),
                        false);
                    return;
                }
                throw new AssertionError("it was repeated");
            }));
        Harness.test(
            "a 408, 449, 500 or 503 is reported, and nothing was done",
            () -> {
                for (int status : new int[] {408, 449, 500, 503})
                    reported(status, 0, all());
            });
    }

    private void testGone() {
        Harness.test("what meets a stale name is repeated, writes too",
            () -> done(1, orderOf(410, 1000), all()));
        Harness.test("queries look for ranges anew when theirs are gone",
            () -> done(1, orderOf(410, 1002),
                List.of(this::query, this::list, this::many)));
        Harness.test("a 410 to a single document has its sub-status",
            () -> {
                for (int substatus : GONE)
                    reported(410, substatus,
                        List.of(this::read, this::create));
            });
        Harness.test("a late session and a write elsewhere are repeated",
            () -> {
                done(1, orderOf(404, 1002), reads());
                done(1, orderOf(403, 3), List.of(this::create));
            });
    }

    private void testLost() {
        String loss = orderOf("\"lose\":\"answer\"");

        Harness.test("what reads is repeated when its answer is lost",
            () -> done(1, loss, reads()));
        Harness.test("a write whose answer is lost is reported, and is there",
            () -> {
                // The client's own word for a connection that ended.
                Harness.fails(503, 10001,
                    () -> control.meets(1, loss, this::create));
                c.readItem("new-" + made, P, ObjectNode.class);
            });
    }
}
