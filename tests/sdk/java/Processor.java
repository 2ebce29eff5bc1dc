// Processor.java -- the change feed processor that comes with the client.
//
// Method: documents are written while hosts come and go and ranges are split
// and merged; what the handlers were given must in the end be what was written.
// It may be given twice.  The one wait there is ends when a condition holds and
// fails after a limit.  The host that is killed is a process of its own.
//
// This client does not say which document was deleted, unless the container
// keeps previous images.
import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncContainer;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.models.ChangeFeedMetaData;
import com.azure.cosmos.models.ChangeFeedOperationType;
import com.azure.cosmos.models.ChangeFeedPolicy;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.azure.cosmos.models.ChangeFeedProcessorState;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

final class Processor {
    private static final int COUNT = 24;

    enum Kind {
        CHANGES("handleChanges"),
        LATEST("handleLatestVersionChanges"),
        ALL("handleAllVersionsAndDeletesChanges");

        final String call;

        Kind(String call) {
            this.call = call;
        }
    }

    private final CosmosAsyncDatabase database;
    private final Control control;
    private final String endpoint;

    private Processor(CosmosAsyncDatabase database, Control control,
            String endpoint) {
        this.database = database;
        this.control = control;
        this.endpoint = endpoint;
    }

    static void await(String what, Callable<Boolean> holds)
            throws Exception {
        Instant late = Instant.now().plusSeconds(40);
        while (!holds.call()) {
            if (Instant.now().isAfter(late))
                throw new AssertionError("in vain: " + what);
            Thread.sleep(20);
        }
    }

    static ChangeFeedProcessorOptions often() {
        return new ChangeFeedProcessorOptions()
            .setFeedPollDelay(Duration.ofMillis(50))
            .setLeaseAcquireInterval(Duration.ofMillis(200))
            .setLeaseRenewInterval(Duration.ofMillis(500))
            .setLeaseExpirationInterval(Duration.ofSeconds(3))
            .setMaxItemCount(7);
    }

    // What happened to which version of which document.
    private static String name(ChangeFeedProcessorItem item) {
        JsonNode whole = item.getCurrent();
        if (whole == null || !whole.has("n"))
            whole = item.getPrevious();
        return item.getChangeFeedMetaData().getOperationType() + " "
            + whole.get("id").asText() + " " + whole.get("n").asInt();
    }

    private static ChangeFeedProcessor build(CosmosAsyncDatabase database,
            String box, Kind kind, String host,
            ChangeFeedProcessorOptions options, Consumer<String> sink) {
        ChangeFeedProcessorBuilder builder = new ChangeFeedProcessorBuilder()
            .hostName(host).options(options)
            .feedContainer(database.getContainer(box))
            .leaseContainer(database.getContainer(box + "-leases"));
        switch (kind) {
        case CHANGES:
            builder.handleChanges(batch -> batch.forEach(
                each -> sink.accept(each.get("id").asText())));
            break;
        case LATEST:
            builder.handleLatestVersionChanges(batch -> batch.forEach(
                each -> sink.accept(each.getCurrent().get("id").asText())));
            break;
        default:
            builder.handleAllVersionsAndDeletesChanges(batch -> batch.forEach(
                each -> sink.accept(name(each))));
        }
        return builder.buildChangeFeedProcessor();
    }

    // Every range has a lease with an owner, and has been read: the estimator
    // reports a place before there is one.
    private void placed(String box, int count) throws Exception {
        await(count + " leases with a place", () -> {
            List<ObjectNode> leases = database.getContainer(box + "-leases")
                .queryItems("SELECT * FROM c", ObjectNode.class).collectList()
                .block();
            leases.removeIf(each -> !each.has("LeaseToken"));
            return leases.size() == count && leases.stream().allMatch(
                each -> each.hasNonNull("ContinuationToken")
                    && each.hasNonNull("Owner"));
        });
    }

    // A container with its leases, and what was written and handled.
    final class Scene implements AutoCloseable {
        final String box;
        final Kind kind;
        final CosmosAsyncContainer c;
        final Set<String> written = new TreeSet<>();
        final Set<String> handled = new ConcurrentSkipListSet<>();
        final Set<ChangeFeedProcessor> hosts = ConcurrentHashMap.newKeySet();
        int next;

        Scene(String name, Kind kind, int ranges) throws Exception {
            int throughput = ranges > 1 ? ranges * 10000 : 400;
            this.kind = kind;
            box = name + "-" + kind.call;
            if (kind == Kind.ALL)
                control.createWithImages(database.getId(), box, throughput);
            else
                database.createContainer(box, "/pk", ThroughputProperties
                    .createManualThroughput(throughput)).block();
            database.createContainer(box + "-leases", "/id").block();
            c = database.getContainer(box);
        }

        ChangeFeedProcessor host(String name,
                ChangeFeedProcessorOptions options) {
            return host(name, options, handled::add);
        }

        ChangeFeedProcessor host(String name,
                ChangeFeedProcessorOptions options, Consumer<String> sink) {
            ChangeFeedProcessor made =
                build(database, box, kind, name, options, sink);
            made.start().block();
            hosts.add(made);
            return made;
        }

        // From the beginning, which all versions do not offer.
        ChangeFeedProcessor host(String name) {
            return host(name, often().setStartFromBeginning(kind != Kind.ALL));
        }

        void stop(ChangeFeedProcessor host) {
            hosts.remove(host);
            host.stop().block();
        }

        void create() {
            for (int end = next + COUNT; next < end; next++) {
                String id = "d" + next;
                c.createItem(document(id, 1)).block();
                written.add(kind == Kind.ALL ? "CREATE " + id + " 1" : id);
            }
        }

        // Changes the last ones, and ends the first of them.
        void change() {
            for (int n = next - COUNT; n < next; n++) {
                String id = "d" + n;
                c.replaceItem(document(id, 2), id, key(n)).block();
                written.add("REPLACE " + id + " 2");
                if (n % 2 == 0) {
                    c.deleteItem(id, key(n)).block();
                    written.add("DELETE " + id + " 2");
                }
            }
        }

        PartitionKey key(int n) {
            return new PartitionKey("k" + n % 8);
        }

        ObjectNode document(String id, int version) {
            return JsonNodeFactory.instance.objectNode().put("id", id)
                .put("pk", "k" + Integer.parseInt(id.substring(1)) % 8)
                .put("n", version);
        }

        void write() {
            create();
            if (kind == Kind.ALL)
                change();
        }

        // Whatever was not written would be an error too.
        void awaitAll() throws Exception {
            try {
                await("all changes", () -> handled.containsAll(written));
            } catch (AssertionError late) {
                Set<String> missing = new TreeSet<>(written);
                missing.removeAll(handled);
                throw new AssertionError("missing: " + missing, late);
            }
            Harness.equal(Set.copyOf(handled), Set.copyOf(written));
        }

        List<ChangeFeedProcessorState> state() {
            return hosts.iterator().next().getCurrentState().block();
        }

        void placed(int count) throws Exception {
            Processor.this.placed(box, count);
        }

        void shared(int count) throws Exception {
            await("leases with " + count + " hosts", () -> {
                Set<String> names = new HashSet<>();
                state().forEach(each -> names.add(each.getHostName()));
                return names.size() == count && !names.contains(null)
                    && !names.contains("");
            });
        }

        int lag() {
            return state().stream()
                .mapToInt(ChangeFeedProcessorState::getEstimatedLag).sum();
        }

        String note(String change) {
            return kind.call + ": " + change;
        }

        String link() {
            return "dbs/" + database.getId() + "/colls/" + box;
        }

        // The database and a container whose name begins with the scene's.
        String path(String suffix) {
            return database.getId() + "/" + box + suffix;
        }

        List<Integer> split(int range) throws Exception {
            return control.split(link(), range);
        }

        @Override
        public void close() {
            for (ChangeFeedProcessor each : hosts)
                if (each.isStarted())
                    each.stop().block();
        }
    }

    private interface Act {
        void play(Scene scene) throws Exception;
    }

    private void test(String name, Kind kind, int ranges, String what,
            Act act) {
        Harness.test(kind.call + " " + what, () -> {
            try (Scene scene = new Scene(name, kind, ranges)) {
                act.play(scene);
            }
        });
    }

    private void testStarts(Kind kind) {
        if (kind != Kind.ALL) {
            test("beginning", kind, 3, "is given everything from the beginning",
                scene -> {
                    scene.write();
                    scene.host("a");
                    scene.awaitAll();
                    scene.write();
                    scene.awaitAll();
                });
            test("time", kind, 3, "is given what is later than a time",
                scene -> testTime(scene));
        }
        test("now", kind, 3, "is given what comes after now", scene -> {
            scene.write();
            scene.written.clear();
            scene.host("a", often());
            scene.placed(3);
            scene.write();
            scene.awaitAll();
        });
    }

    private void testTime(Scene scene) throws Exception {
        scene.write();
        scene.written.clear();
        long seconds = scene.c.readItem("d" + (COUNT - 1), scene.key(COUNT - 1),
            ObjectNode.class).block().getItem().get("_ts").asLong();
        control.post("clock", "{\"advanceMs\":10000}");
        scene.write();
        scene.host("a", often().setStartTime(
            Instant.ofEpochSecond(seconds + 5)));
        scene.awaitAll();
        scene.write();
        scene.awaitAll();
    }

    private void testHosts(Kind kind) {
        test("stopped", kind, 4, "goes on with one host of two when one stops",
            scene -> {
                ChangeFeedProcessor first = scene.host("a");
                scene.placed(4);
                scene.host("b");
                scene.shared(2);
                scene.write();
                scene.stop(first);
                scene.write();
                scene.shared(1);
                scene.awaitAll();
            });
        test("failing", kind, 1, "is given again what its handler failed with",
            scene -> {
                AtomicInteger left = new AtomicInteger(3);
                scene.host("a", often().setStartFromBeginning(kind != Kind.ALL),
                    each -> {
                        if (left.getAndDecrement() > 0)
                            throw new IllegalStateException("not now");
                        scene.handled.add(each);
                    });
                if (kind == Kind.ALL)
                    scene.placed(1);
                scene.write();
                scene.awaitAll();
                if (left.get() > 0)
                    throw new AssertionError("it never failed");
            });
    }

    // One process has a host of each kind, and prints what they were given.
    private void testKill() throws Exception {
        List<Scene> scenes = new ArrayList<>();
        Set<String> noted = new ConcurrentSkipListSet<>();
        try {
            for (Kind kind : Kind.values()) {
                Scene scene = new Scene("killed", kind, 4);
                scenes.add(scene);
                scene.host("a");
            }
            for (Scene scene : scenes)
                scene.placed(4);
            Process other = new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"),
                "-DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true", "Main",
                endpoint, "hosts").redirectErrorStream(true).start();
            Thread reader = new Thread(
                () -> other.inputReader().lines().forEach(noted::add));
            reader.start();
            try {
                for (Scene scene : scenes) {
                    scene.shared(2);
                    scene.write();
                    await("work for the other host", () -> noted.stream()
                        .anyMatch(line -> line.startsWith(scene.note(""))));
                }
            } finally {
                other.destroyForcibly().waitFor();
                reader.join();
            }
            for (Scene scene : scenes)
                scene.write();
            for (Scene scene : scenes) {
                scene.written.stream().filter(
                    each -> noted.contains(scene.note(each)))
                    .forEach(scene.handled::add);
                scene.awaitAll();
                scene.shared(1);
            }
        } finally {
            scenes.forEach(Scene::close);
        }
    }

    // What the process does that is to be killed.
    static void hosts(CosmosAsyncClient client) throws Exception {
        for (Kind kind : Kind.values())
            build(client.getDatabase("java-processor"), "killed-" + kind.call,
                kind, "b", often(), each -> {
                    System.out.println(kind.call + ": " + each);
                    System.out.flush();
                }).start().block();
        Thread.sleep(Duration.ofMinutes(2).toMillis());
    }

    private void testReshapes(Kind kind) {
        test("splits", kind, 1, "misses nothing through splits", scene -> {
            scene.host("a");
            scene.placed(1);
            scene.write();
            List<Integer> halves = control.split(scene.link(), 0);
            scene.write();
            scene.awaitAll();
            scene.placed(2);
            control.split(scene.link(), halves.get(0));
            control.split(scene.link(), halves.get(1));
            scene.write();
            scene.awaitAll();
            scene.placed(4);
        });
        test("asleep", kind, 1, "misses nothing split while no host ran",
            scene -> {
                ChangeFeedProcessor first = scene.host("a");
                scene.placed(1);
                scene.write();
                scene.awaitAll();
                scene.stop(first);
                scene.write();
                control.split(scene.link(), 0);
                scene.write();
                scene.host("b");
                scene.awaitAll();
                scene.placed(2);
            });
        if (kind == Kind.CHANGES)
            return;
        test("merges", kind, 1, "misses nothing through merges and splits",
            scene -> {
                scene.host("a");
                scene.placed(1);
                scene.write();
                List<Integer> halves = control.split(scene.link(), 0);
                scene.write();
                scene.placed(2);
                int whole = control.merge(scene.link(), halves.get(0),
                    halves.get(1));
                scene.write();
                scene.awaitAll();
                halves = control.split(scene.link(), whole);
                scene.write();
                scene.awaitAll();
                control.merge(scene.link(), halves.get(0), halves.get(1));
                scene.write();
                scene.awaitAll();
            });
    }

    // Leases are renewed rarely here: a renewal that meets a checkpoint was seen
    // to leave a lease with an older place until the next change.
    private void testEstimates(Kind kind) {
        test("lag", kind, 3, "knows how much is left to do", scene -> {
            CountDownLatch gate = new CountDownLatch(1);
            ChangeFeedProcessor host = scene.host("a", often()
                .setLeaseRenewInterval(Duration.ofMinutes(1))
                .setLeaseExpirationInterval(Duration.ofMinutes(3)), each -> {
                    try {
                        gate.await();
                    } catch (InterruptedException stopped) {
                        throw new IllegalStateException(stopped);
                    }
                    scene.handled.add(each);
                });
            scene.placed(3);
            Harness.equal(scene.lag(), 0);
            scene.write();
            Harness.equal(scene.lag(), scene.written.size());
            if (kind == Kind.CHANGES)
                Harness.equal(host.getEstimatedLag().block().values().stream()
                    .mapToInt(Integer::intValue).sum(), scene.written.size());
            gate.countDown();
            scene.awaitAll();
            await("no lag", () -> scene.lag() == 0);
        });
    }

    // With the client's own policy: no images, but the LSN of what there was.
    private void testDeletes() throws Exception {
        CosmosContainerProperties wish =
            new CosmosContainerProperties("deletes", "/pk");
        PartitionKey key = new PartitionKey("k");
        List<ChangeFeedProcessorItem> found = new CopyOnWriteArrayList<>();
        wish.setChangeFeedPolicy(ChangeFeedPolicy
            .createAllVersionsAndDeletesPolicy(Duration.ofMinutes(60)));
        wish.setDefaultTimeToLiveInSeconds(-1);
        database.createContainer(wish).block();
        database.createContainer("deletes-leases", "/id").block();
        CosmosAsyncContainer c = database.getContainer("deletes");
        ChangeFeedProcessor host = new ChangeFeedProcessorBuilder()
            .hostName("a").options(often()).feedContainer(c)
            .leaseContainer(database.getContainer("deletes-leases"))
            .handleAllVersionsAndDeletesChanges((batch, context) -> {
                if (!context.getLeaseToken().isEmpty())
                    found.addAll(batch);
            }).buildChangeFeedProcessor();
        host.start().block();
        placed("deletes", 1);
        ObjectNode body = JsonNodeFactory.instance.objectNode()
            .put("id", "x").put("pk", "k");
        c.createItem(body).block();
        c.deleteItem("x", key).block();
        c.createItem(body.put("ttl", 5)).block();
        control.post("clock", "{\"advanceMs\":10000}");
        await("four changes", () -> found.size() >= 4);
        host.stop().block();
        for (int n = 0; n < 4; n++) {
            ChangeFeedMetaData about = found.get(n).getChangeFeedMetaData();
            Harness.equal(about.getOperationType(), n % 2 == 0
                ? ChangeFeedOperationType.CREATE
                : ChangeFeedOperationType.DELETE);
            Harness.equal(about.getPreviousLogSequenceNumber(), n % 2 == 0 ? 0L
                : found.get(n - 1).getChangeFeedMetaData()
                    .getLogSequenceNumber());
            Harness.equal(about.isTimeToLiveExpired(), n == 3);
        }
        Harness.equal(found.size(), 4);
    }

    static void test(CosmosAsyncClient client, String endpoint, String key)
            throws Exception {
        client.createDatabase("java-processor").block();
        Processor all = new Processor(client.getDatabase("java-processor"),
            new Control(endpoint, key), endpoint);
        for (Kind kind : Kind.values()) {
            all.testStarts(kind);
            all.testHosts(kind);
            all.testReshapes(kind);
            all.testEstimates(kind);
        }
        Harness.test("every kind goes on with one host of two when one is"
            + " killed", all::testKill);
        Harness.test("handleAllVersionsAndDeletesChanges is given deletes and"
            + " what expired", all::testDeletes);
        // Leases do not depend on TLS; one round is enough.
        if (endpoint.startsWith("http:"))
            Beside.test(all, endpoint);
    }
}
