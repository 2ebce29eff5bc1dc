// Queries.java -- queries, and what the client does with plans by itself.
//
// Goal: this client, which asks for a plan first and merges what the ranges
// answer, gives right answers over one range and over several.  Method: one
// container of 57 documents in each; what is right can be computed by hand.
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosItemIdentity;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

final class Queries {
    private static final int COUNT = 57;
    private static final String ALL = join(IntStream.range(0, COUNT));

    // Query, rows; the rows are in that order if the query has one.
    private static final String[][] ANSWERS = {
        {"SELECT VALUE c.n FROM c ORDER BY c.n", ALL},
        {"SELECT VALUE c.n FROM c WHERE c.n < 4 ORDER BY c.n DESC", "3 2 1 0"},
        {"SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC", "56 55 54"},
        {"SELECT TOP 0 VALUE c.n FROM c", ""}, // this client wants pages of 0
        {"SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 54 LIMIT 9", "54 55 56"},
        {"SELECT VALUE c.n FROM c WHERE c.n > 53", "54 55 56"},
        {"SELECT VALUE c.n FROM c WHERE c.pk IN ('p1','p2') AND c.n < 9", "1 2 6 7"},
        {"SELECT DISTINCT VALUE c.n % 3 FROM c", "0 1 2"},
        {"SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk",
            "\"p0\" \"p1\" \"p2\" \"p3\" \"p4\""},
        {"SELECT VALUE COUNT(1) FROM c", "57"},
        {"SELECT VALUE SUM(c.n) FROM c", "1596.0"}, // this client adds doubles
        {"SELECT VALUE AVG(c.n) FROM c WHERE c.n < 2", "0.5"},
        {"SELECT VALUE MIN(c.n) FROM c WHERE c.n > 7", "8"},
        {"SELECT VALUE MAX(c.id) FROM c", "\"i9\""},
        {"SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk",
            "{\"pk\":\"p0\",\"k\":12} {\"pk\":\"p1\",\"k\":12} "
            + "{\"pk\":\"p2\",\"k\":11} {\"pk\":\"p3\",\"k\":11} "
            + "{\"pk\":\"p4\",\"k\":11}"},
        // this client merges by the order and then forgets it in its groups
        {"SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk ORDER BY c.pk",
            "{\"pk\":\"p0\",\"k\":12} {\"pk\":\"p1\",\"k\":12} "
            + "{\"pk\":\"p2\",\"k\":11} {\"pk\":\"p3\",\"k\":11} "
            + "{\"pk\":\"p4\",\"k\":11}"},
        {"select max(c.id) from c group by c.pk order by c.pk",
            "{\"$1\":\"i55\"} {\"$1\":\"i6\"} {\"$1\":\"i7\"} "
            + "{\"$1\":\"i8\"} {\"$1\":\"i9\"}"},
        {"SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.n = 4", "\"a\" \"b1\""},
        {"SELECT c.nothing FROM c WHERE c.n = 1", "{}"},
    };

    private Queries() {}

    private static String join(IntStream numbers) {
        return numbers.mapToObj(Integer::toString)
            .collect(Collectors.joining(" "));
    }

    private static CosmosContainer fill(CosmosDatabase database, String id,
            int throughput) {
        database.createContainer(id, "/pk",
            ThroughputProperties.createManualThroughput(throughput));
        CosmosContainer container = database.getContainer(id);
        for (int n = 0; n < COUNT; n++) {
            var document = JsonNodeFactory.instance.objectNode()
                .put("id", "i" + n).put("pk", "p" + n % 5).put("n", n);
            document.putArray("tags").add("a").add("b" + n % 3);
            container.createItem(document);
        }
        return container;
    }

    private static List<String> texts(FeedResponse<JsonNode> page) {
        return page.getResults().stream().map(JsonNode::toString)
            .collect(Collectors.toList());
    }

    private static String rows(CosmosContainer container, String query, int size) {
        List<String> all = new ArrayList<>();
        container.queryItems(query, new CosmosQueryRequestOptions(), JsonNode.class)
            .iterableByPage(size).forEach(page -> all.addAll(texts(page)));
        if (!query.contains("ORDER BY") || query.contains("GROUP BY"))
            Collections.sort(all);
        return String.join(" ", all);
    }

    // A new iterator for each page, from the token of the one before.
    private static String resumed(CosmosContainer container, String query) {
        List<String> all = new ArrayList<>();
        String token = null;
        do {
            var pages = container.queryItems(query,
                new CosmosQueryRequestOptions(), JsonNode.class)
                .iterableByPage(token, 10).iterator();
            token = null;
            if (pages.hasNext()) {
                FeedResponse<JsonNode> page = pages.next();
                all.addAll(texts(page));
                token = page.getContinuationToken();
            }
        } while (token != null);
        return String.join(" ", all);
    }

    private static void testOne(CosmosContainer container) {
        var options = new CosmosQueryRequestOptions()
            .setPartitionKey(new PartitionKey("p1"));
        var query = new SqlQuerySpec(
            "SELECT VALUE c.n FROM c WHERE c.n > @n ORDER BY c.n",
            new SqlParameter("@n", 40));
        List<String> found = new ArrayList<>();
        container.queryItems(query, options, JsonNode.class)
            .forEach(row -> found.add(row.toString()));
        Harness.equal(String.join(" ", found), "41 46 51 56");
    }

    private static void testMany(CosmosContainer container) {
        List<CosmosItemIdentity> wanted = IntStream.range(0, 20)
            .mapToObj(n -> new CosmosItemIdentity(new PartitionKey("p" + n % 5),
                "i" + n)).collect(Collectors.toList());
        var found = container.readMany(wanted, JsonNode.class).getResults();
        Harness.equal(join(found.stream().mapToInt(d -> d.get("n").asInt())
            .sorted()), join(IntStream.range(0, 20)));
    }

    private static void testAll(CosmosContainer container, String where) {
        for (String[] answer : ANSWERS)
            Harness.test(answer[0] + " over " + where, () -> {
                for (int size : new int[] {1, 10, 100})
                    Harness.equal(rows(container, answer[0], size), answer[1]);
            });
        Harness.test("pages continue by their tokens over " + where, () ->
            Harness.equal(resumed(container,
                "SELECT VALUE c.n FROM c ORDER BY c.n"), ALL));
        Harness.test("a key and parameters narrow a query over " + where,
            () -> testOne(container));
        Harness.test("many documents are read at once over " + where,
            () -> testMany(container));
        Harness.test("what is no query is refused over " + where, () ->
            Harness.fails(400, 0, () -> rows(container, "SELEC", 10)));
    }

    // Ranking by words is left to other clients: at times this one fails in its
    // own metrics when it asks several ranges for one ("retries must not be
    // negative").
    private static void testNearness(CosmosDatabase database) {
        int[][] vectors = {{0, 1}, {1, 1}, {1, 0}, {-1, 0}};

        database.createContainer("near", "/pk",
            ThroughputProperties.createManualThroughput(20000));
        CosmosContainer container = database.getContainer("near");
        for (int n = 0; n < vectors.length; n++) {
            var document = JsonNodeFactory.instance.objectNode()
                .put("id", "" + n).put("pk", n);
            document.putArray("v").add(vectors[n][0]).add(vectors[n][1]);
            container.createItem(document);
        }
        Harness.equal(rows(container, "SELECT TOP 4 VALUE c.id FROM c "
            + "ORDER BY VectorDistance(c.v, [1, 0])", 10),
            "\"2\" \"1\" \"0\" \"3\"");
    }

    static void test(CosmosClient client) {
        client.createDatabase("java-queries");
        CosmosDatabase database = client.getDatabase("java-queries");
        testAll(fill(database, "one", 400), "one range");
        testAll(fill(database, "three", 30000), "three ranges");
        Harness.test("documents are ordered by the nearness of vectors",
            () -> testNearness(database));
    }
}
