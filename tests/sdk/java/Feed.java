// Feed.java -- queryChangeFeed: every start, every scope, with and without an
// end.
//
// This client parses our etag and session token as numbers, and with
// completeAfterAllCurrentChangesRetrieved reads until the one has reached the
// other.
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.FeedResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

final class Feed {
    private static final int COUNT = 40;

    private Feed() {}

    private static void fill(CosmosContainer c, int from) {
        for (int n = from; n < from + COUNT; n++)
            c.createItem(JsonNodeFactory.instance.objectNode()
                .put("id", "d" + n).put("pk", "k" + n % 8).put("n", n));
    }

    // Of one key, or (-1) of all.
    private static List<String> ids(int key, int... froms) {
        List<String> all = new ArrayList<>();
        for (int from : froms)
            for (int n = from; n < from + COUNT; n++)
                if (key < 0 || n % 8 == key)
                    all.add("d" + n);
        Collections.sort(all);
        return all;
    }

    private static final class Read {
        final List<String> ids = new ArrayList<>();
        String token;
    }

    // The iterable ends at the first page without documents of every range.
    private static Read read(CosmosContainer c,
            CosmosChangeFeedRequestOptions options) {
        Read read = new Read();
        options.setMaxItemCount(7);
        for (FeedResponse<ObjectNode> page : c.queryChangeFeed(options,
                ObjectNode.class).iterableByPage()) {
            for (ObjectNode each : page.getResults()) {
                if (!each.get("_lsn").isNumber())
                    throw new AssertionError(each);
                read.ids.add(each.get("id").asText());
            }
            if (page.getRequestCharge() <= 0)
                throw new AssertionError(page.getRequestCharge());
            read.token = page.getContinuationToken();
        }
        Collections.sort(read.ids);
        return read;
    }

    private static CosmosChangeFeedRequestOptions beginning(FeedRange part) {
        return CosmosChangeFeedRequestOptions
            .createForProcessingFromBeginning(part);
    }

    private static void testStarts(CosmosContainer c, String of) {
        FeedRange all = FeedRange.forFullRange();
        Harness.test("a feed " + of + " read from the beginning has everything"
            + " once", () -> Harness.equal(read(c, beginning(all)).ids,
                ids(-1, 0)));
        Harness.test("a feed " + of + " read from now has what comes after",
            () -> {
                Read now = read(c, CosmosChangeFeedRequestOptions
                    .createForProcessingFromNow(all));
                Harness.equal(now.ids, List.of());
                fill(c, 1000);
                Read next = read(c, CosmosChangeFeedRequestOptions
                    .createForProcessingFromContinuation(now.token));
                Harness.equal(next.ids, ids(-1, 1000));
                Harness.equal(read(c, CosmosChangeFeedRequestOptions
                    .createForProcessingFromContinuation(next.token)).ids,
                    List.of());
            });
        Harness.test("a feed " + of + " read from a time has what is as late",
            () -> {
                Instant now = Instant.now();
                Harness.equal(read(c, CosmosChangeFeedRequestOptions
                    .createForProcessingFromPointInTime(
                        now.minus(Duration.ofHours(1)), all)).ids,
                    ids(-1, 0, 1000));
                Harness.equal(read(c, CosmosChangeFeedRequestOptions
                    .createForProcessingFromPointInTime(
                        now.plus(Duration.ofHours(1)), all)).ids, List.of());
            });
    }

    private static void testScopes(CosmosContainer c, int ranges, String of) {
        Harness.test("a feed " + of + " read by key has that key's documents",
            () -> {
                for (int key : new int[] {0, 5})
                    Harness.equal(read(c, beginning(FeedRange
                        .forLogicalPartition(new PartitionKey("k" + key)))).ids,
                        ids(key, 0, 1000));
            });
        Harness.test("a feed " + of + " read by feed ranges is complete", () -> {
            List<String> found = new ArrayList<>();
            List<FeedRange> parts = c.getFeedRanges();
            Harness.equal(parts.size(), ranges);
            for (FeedRange part : parts)
                found.addAll(read(c, beginning(part)).ids);
            Collections.sort(found);
            Harness.equal(found, ids(-1, 0, 1000));
        });
        Harness.test("a feed " + of + " read until all current changes ends",
            () -> Harness.equal(read(c, beginning(FeedRange.forFullRange())
                .setCompleteAfterAllCurrentChangesRetrieved(true)).ids,
                ids(-1, 0, 1000)));
    }

    private static void testSplits(CosmosDatabase database) {
        Harness.test("tokens go on through splits", () -> {
            database.createContainer(
                new CosmosContainerProperties("split", "/pk"));
            CosmosContainer c = database.getContainer("split");
            fill(c, 0);
            Read all = read(c, beginning(FeedRange.forFullRange()));
            Read key = read(c, beginning(FeedRange.forLogicalPartition(
                new PartitionKey("k3"))));
            c.replaceThroughput(
                ThroughputProperties.createManualThroughput(30000));
            // The split is queued before that is answered, so these come after.
            fill(c, 1000);
            Harness.equal(read(c, CosmosChangeFeedRequestOptions
                .createForProcessingFromContinuation(all.token)).ids,
                ids(-1, 1000));
            Harness.equal(read(c, CosmosChangeFeedRequestOptions
                .createForProcessingFromContinuation(key.token)).ids,
                ids(3, 1000));
        });
    }

    static void test(CosmosClient client) {
        client.createDatabase("java-feed");
        CosmosDatabase database = client.getDatabase("java-feed");
        for (int ranges : new int[] {1, 3}) {
            String of = "of " + ranges + (ranges > 1 ? " ranges" : " range");
            database.createContainer(
                new CosmosContainerProperties("c" + ranges, "/pk"),
                ThroughputProperties.createManualThroughput(
                    ranges > 1 ? ranges * 10000 : 400));
            CosmosContainer c = database.getContainer("c" + ranges);
            fill(c, 0);
            testStarts(c, of);
            testScopes(c, ranges, of);
        }
        testSplits(database);
        Harness.test("all versions and deletes are refused where they are not kept", () ->
            Harness.fails(400, 0, () -> read(database.getContainer("c1"),
                CosmosChangeFeedRequestOptions.createForProcessingFromNow(
                    FeedRange.forFullRange()).allVersionsAndDeletes())));
    }
}
