// Harness.java -- runs cases one after the other and says how each went.
import com.azure.cosmos.CosmosException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Objects;

final class Harness {
    interface Body {
        void run() throws Exception;
    }

    static int failed;

    private Harness() {}

    static void test(String name, Body body) {
        try {
            body.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError error) {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            String shown = text.toString();
            failed++;
            System.out.println("not ok " + name);
            System.out.println("    "
                + shown.substring(0, Math.min(2000, shown.length()))
                      .replace("\n", "\n    "));
        }
    }

    // The status and sub-status that an operation must end with.
    static void fails(int status, int substatus, Body body) throws Exception {
        try {
            body.run();
        } catch (CosmosException error) {
            if (error.getStatusCode() != status)
                throw error;
            equal(error.getSubStatusCode(), substatus);
            return;
        }
        throw new AssertionError("expected " + status + ", but it succeeded");
    }

    static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected))
            throw new AssertionError(found + " is not " + expected);
    }
}
