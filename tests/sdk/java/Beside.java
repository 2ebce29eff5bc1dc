// Beside.java -- the Java change feed processor and librunnel's side by side.
//
// Method: hosts of both libraries read one container and keep their leases in
// one lease container, under processor names of their own.  librunnel's host is
// the program that the property runnel.program names; it appends what it was
// given to a file.  Both must have all that was written, through a split.
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;

final class Beside {
    private final Processor.Scene scene;
    private final String endpoint;
    private final Path directory;

    private Beside(Processor.Scene scene, String endpoint, Path directory) {
        this.scene = scene;
        this.endpoint = endpoint;
        this.directory = directory;
    }

    private File file(String name) {
        return directory.resolve(name).toFile();
    }

    // It runs until its input ends.
    private Process host(String name) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
            System.getProperty("runnel.program"), "host", endpoint + "/", "c",
            file("ledger").getPath());
        builder.environment().put("PROGRAM_NAME", name);
        builder.environment().put("PROGRAM_SOURCE", scene.path(""));
        builder.environment().put("PROGRAM_LEASES", scene.path("-leases"));
        return builder.redirectOutput(file("output"))
            .redirectError(file("errors")).start();
    }

    private static int end(Process host) throws Exception {
        host.getOutputStream().close();
        if (!host.waitFor(60, TimeUnit.SECONDS))
            throw new AssertionError("it does not stop");
        return host.exitValue();
    }

    // The documents that our host was given: the second word of each line.
    private Set<String> ledger() throws Exception {
        Set<String> found = new TreeSet<>();
        if (file("ledger").exists())
            for (String line : Files.readAllLines(file("ledger").toPath()))
                found.add(line.split(" ")[1]);
        return found;
    }

    private void awaitAll() throws Exception {
        scene.awaitAll();
        Processor.await("all changes in C",
            () -> ledger().equals(scene.written));
    }

    private void testShared() throws Exception {
        Process ours = host("ours");
        try {
            scene.host("a", Processor.often().setLeasePrefix("theirs")
                .setStartFromBeginning(true));
            scene.write();
            awaitAll();
            scene.split(0);
            scene.write();
            awaitAll();
            Harness.equal(end(ours), 0);
        } finally {
            ours.destroyForcibly();
        }
    }

    private void testRefused() throws Exception {
        Process ours = host("theirs");
        try {
            Harness.equal(end(ours), 1);
        } finally {
            ours.destroyForcibly();
        }
        String errors = Files.readString(file("errors").toPath());
        if (!errors.contains("is a lease of the Java library, which keeps"
                + " positions in another form; use another processor name"))
            throw new AssertionError(errors);
        scene.write();
        scene.awaitAll();
    }

    static void test(Processor all, String endpoint) throws Exception {
        Path directory = Files.createTempDirectory("beside");
        try (Processor.Scene scene = all.new Scene("beside",
                Processor.Kind.LATEST, 2)) {
            Beside both = new Beside(scene, endpoint, directory);
            Harness.test("the processors of Java and of C share a container and"
                + " a lease container, and each is given everything",
                both::testShared);
            Harness.test("that of C refuses the leases of Java's by name, and"
                + " leaves them alone", both::testRefused);
        } finally {
            for (File each : directory.toFile().listFiles())
                each.delete();
            directory.toFile().delete();
        }
    }
}
