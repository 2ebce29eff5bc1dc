// Control.java -- asks the server for what the client cannot.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

final class Control {
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern(
        "EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH);

    private final String endpoint;
    private final byte[] key;

    Control(String endpoint, String key) {
        this.endpoint = endpoint;
        this.key = Base64.getDecoder().decode(key);
    }

    private String sign(String method, String type, String link, String date)
            throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        String text = (method + "\n" + type).toLowerCase(Locale.ENGLISH) + "\n"
            + link + "\n" + date.toLowerCase(Locale.ENGLISH) + "\n\n";
        return URLEncoder.encode("type=master&ver=1.0&sig="
            + Base64.getEncoder().encodeToString(mac.doFinal(
                text.getBytes(StandardCharsets.UTF_8))),
            StandardCharsets.UTF_8);
    }

    private JsonNode ask(String method, String type, String link, String path,
            String body, String... headers) throws Exception {
        String date = DATE.format(ZonedDateTime.now(ZoneOffset.UTC));
        HttpRequest.Builder request = HttpRequest.newBuilder(
            URI.create(endpoint + path))
            .header("authorization", sign(method, type, link, date))
            .header("x-ms-date", date).header("x-ms-version", "2020-07-15")
            .method(method, HttpRequest.BodyPublishers.ofString(body));
        if (headers.length > 0)
            request.headers(headers);
        HttpResponse<String> answer = HttpClient.newHttpClient().send(
            request.build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() / 100 != 2)
            throw new AssertionError(answer.statusCode() + answer.body());
        return new ObjectMapper().readTree(answer.body());
    }

    private JsonNode ask(String method, String route, String body)
            throws Exception {
        return ask(method, "", "_runnel/" + route, "/_runnel/" + route, body);
    }

    JsonNode post(String route, String body) throws Exception {
        return ask("POST", route, body);
    }

    void turnClock(int seconds) throws Exception {
        post("clock", "{\"advanceMs\":" + seconds * 1000L + "}");
    }

    // Runs an operation that is to meet a fault, so many times.
    void meets(int times, String order, Harness.Body body) throws Exception {
        JsonNode before = ask("GET", "fault", "");
        Harness.equal(before.get("waiting").asInt(), 0);
        post("fault", "{" + order + ",\"count\":" + times + "}");
        try {
            body.run();
        } finally {
            JsonNode after = ask("GET", "fault", "");
            ask("DELETE", "fault", "");
            Harness.equal(after.get("taken").asInt()
                - before.get("taken").asInt(), times);
        }
    }

    // The client does not know of previous images.
    void createWithImages(String database, String id, int throughput)
            throws Exception {
        ask("POST", "colls", "dbs/" + database, "/dbs/" + database + "/colls",
            "{\"id\":\"" + id + "\",\"partitionKey\":{\"paths\":[\"/pk\"],"
            + "\"kind\":\"Hash\",\"version\":2},\"changeFeedPolicy\":"
            + "{\"retentionDuration\":60,\"previousImages\":true}}",
            "x-ms-offer-throughput", String.valueOf(throughput));
    }

    private List<Integer> splitOrMerge(String route, String body) throws Exception {
        List<Integer> made = new ArrayList<>();
        post(route, body).get("ranges").forEach(
            each -> made.add(each.asInt()));
        return made;
    }

    List<Integer> split(String container, int range) throws Exception {
        return splitOrMerge("split", "{\"container\":\"" + container
            + "\",\"range\":" + range + "}");
    }

    int merge(String container, int range, int with) throws Exception {
        return splitOrMerge("merge", "{\"container\":\"" + container
            + "\",\"range\":" + range + ",\"with\":" + with + "}").get(0);
    }
}
