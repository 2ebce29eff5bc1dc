// Batch.java -- patches, transactional batches and bulk.
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchOperationResult;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

final class Batch {
    private static final PartitionKey P = new PartitionKey("p");

    private Batch() {}

    private static ObjectNode document(String id, String pk, int n) {
        return JsonNodeFactory.instance.objectNode().put("id", id)
            .put("pk", pk).put("n", n);
    }

    private static CosmosPatchOperations count() {
        return CosmosPatchOperations.create().increment("/n", 1);
    }

    private static int read(CosmosContainer c, String id, String pk) {
        return c.readItem(id, new PartitionKey(pk), ObjectNode.class).getItem()
            .get("n").asInt();
    }

    private static List<Integer> statuses(CosmosBatchResponse response) {
        return response.getResults().stream()
            .map(CosmosBatchOperationResult::getStatusCode)
            .collect(Collectors.toList());
    }

    static void test(CosmosContainer c) {
        Harness.test("a patch changes a document under a condition", () -> {
            c.createItem(document("patched", "p", 1));
            c.patchItem("patched", P, count().set("/s", "x").add("/l", List.of(1))
                .add("/l/0", 0).replace("/s", "y").move("/s", "/t"),
                ObjectNode.class);
            ObjectNode found =
                c.readItem("patched", P, ObjectNode.class).getItem();
            Harness.equal(found.get("n").asInt(), 2);
            Harness.equal(found.get("t").asText(), "y");
            Harness.equal(found.get("l").size(), 2);
            Harness.fails(412, 0, () -> c.patchItem("patched", P, count(),
                new CosmosPatchItemRequestOptions()
                    .setFilterPredicate("from c where c.n = 1"),
                ObjectNode.class));
            Harness.fails(400, 0, () -> c.patchItem("patched", P,
                CosmosPatchOperations.create().remove("/none"),
                ObjectNode.class));
            Harness.fails(404, 0, () ->
                c.patchItem("absent", P, count(), ObjectNode.class));
        });
        Harness.test("a batch happens in whole or not at all",
            () -> testBatch(c));
        Harness.test("bulk writes hundreds of documents, each by itself",
            () -> testBulk(c));
    }

    private static void testBatch(CosmosContainer c) {
        c.createItem(document("b", "p", 1));
        CosmosBatch good = CosmosBatch.createCosmosBatch(P);
        good.createItemOperation(document("b-new", "p", 1));
        good.upsertItemOperation(document("b-up", "p", 1));
        good.replaceItemOperation("b", document("b", "p", 5));
        good.readItemOperation("b");
        good.patchItemOperation("b", count());
        good.deleteItemOperation("b-up");
        CosmosBatchResponse done = c.executeCosmosBatch(good);
        Harness.equal(done.isSuccessStatusCode(), true);
        Harness.equal(statuses(done), List.of(201, 201, 200, 200, 200, 204));
        Harness.equal(done.getResults().get(3).getItem(ObjectNode.class)
            .get("n").asInt(), 5);
        Harness.equal(read(c, "b", "p"), 6);

        CosmosBatch bad = CosmosBatch.createCosmosBatch(P);
        bad.patchItemOperation("b", count());
        bad.createItemOperation(document("b-new", "p", 1));
        bad.deleteItemOperation("b");
        CosmosBatchResponse refused = c.executeCosmosBatch(bad);
        Harness.equal(refused.getStatusCode(), 409);
        Harness.equal(statuses(refused), List.of(424, 409, 424));
        Harness.equal(read(c, "b", "p"), 6);
    }

    private static void testBulk(CosmosContainer c) {
        List<CosmosItemOperation> operations = new ArrayList<>();
        for (int n = 0; n < 300; n++)
            operations.add(CosmosBulkOperations.getCreateItemOperation(
                document("k" + n, "k" + n, n), new PartitionKey("k" + n)));
        operations.add(CosmosBulkOperations.getDeleteItemOperation("none",
            new PartitionKey("none")));
        Map<Integer, Integer> counts = new TreeMap<>();
        c.executeBulkOperations(operations).forEach(each -> counts.merge(
            each.getResponse().getStatusCode(), 1, Integer::sum));
        Harness.equal(counts, Map.of(201, 300, 404, 1));
        Harness.equal(read(c, "k299", "k299"), 299);
    }
}
