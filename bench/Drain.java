// Drain.java -- Java's change feed processor on the backlog of client_bench.
//
//   java Drain PORT DOCUMENTS
//
// Prints "java LEASES documents/s documents/s", from the start of the processor
// and from its first batch.
import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosAsyncDatabase;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

public final class Drain {
    // The key that all emulators share; public.
    private static final String KEY =
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMs"
        + "EcaGQy67XIw/Jw==";

    private Drain() {}

    private static long rate(long count, long nanoseconds) {
        return Math.round(count * 1e9 / nanoseconds);
    }

    public static void main(String[] args) throws Exception {
        long wanted = Long.parseLong(args[1]);
        AtomicLong count = new AtomicLong();
        AtomicLong first = new AtomicLong();
        CosmosAsyncClient client = new CosmosClientBuilder()
            .endpoint("http://127.0.0.1:" + args[0]).key(KEY).gatewayMode()
            .contentResponseOnWriteEnabled(true).buildAsyncClient();
        CosmosAsyncDatabase database = client.getDatabase("h");
        database.createContainerIfNotExists("java-leases", "/id").block();
        ChangeFeedProcessor processor = new ChangeFeedProcessorBuilder()
            .hostName("a").feedContainer(database.getContainer("c"))
            .leaseContainer(database.getContainer("java-leases"))
            .options(new ChangeFeedProcessorOptions().setMaxItemCount(1000)
                .setStartFromBeginning(true)
                .setLeasePrefix("bench-" + ProcessHandle.current().pid())
                .setLeaseAcquireInterval(Duration.ofSeconds(1)))
            .handleLatestVersionChanges(batch -> {
                first.compareAndSet(0, System.nanoTime());
                count.addAndGet(batch.size());
            }).buildChangeFeedProcessor();
        long begin = System.nanoTime();
        processor.start().block();
        while (count.get() < wanted)
            Thread.sleep(1);
        long end = System.nanoTime();
        System.out.println("java " + processor.getCurrentState().block().size()
            + " " + rate(wanted, end - begin) + " "
            + rate(wanted, end - first.get()));
        System.exit(0);
    }
}
