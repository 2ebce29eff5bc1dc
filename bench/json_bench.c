/* json_bench.c -- how long reading and printing JSON takes, beside jansson.
 *
 * Each row runs one piece of work on one document over and over for a few
 * milliseconds, a hundred times, and prints the fastest round: on a shared
 * machine the others measure the neighbours.  Documents of about 1 KB: an
 * order, deep and dense, as an SDK sends it; the same indented; a flat record
 * with longer texts; and text that is not ASCII.
 *
 *   json_bench [milliseconds per round]
 */
#include "json/number.h"
#include "json/path.h"
#include "json/print.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 100 };

/* clang-format off */
static const char compact[] =
    "{\"id\":\"6f1c2a34-98b7-4a53-8c36-2b1e5f0a77d1\",\"pk\":\"customer-00418\","
    "\"type\":\"order\",\"status\":\"shipped\",\"createdAt\":\"2024-03-18T09:26:53.589Z\","
    "\"total\":1284.55,\"currency\":\"EUR\",\"items\":["
    "{\"sku\":\"A-1009\",\"name\":\"Desk lamp, brushed steel\",\"qty\":2,\"price\":49.9,\"tags\":[\"home\",\"light\"]},"
    "{\"sku\":\"B-2240\",\"name\":\"Office chair \\\"Ergo 5\\\"\",\"qty\":1,\"price\":389.0,\"tags\":[\"office\"]},"
    "{\"sku\":\"C-7731\",\"name\":\"Cable, USB-C, 2 m\",\"qty\":5,\"price\":7.25,\"tags\":[]}],"
    "\"address\":{\"street\":\"12 Harbour Road\",\"city\":\"Gdansk\",\"zip\":\"80-001\",\"country\":\"PL\","
    "\"geo\":{\"type\":\"Point\",\"coordinates\":[18.646638,54.352025]}},"
    "\"history\":[{\"at\":1710753000,\"ev\":\"created\"},{\"at\":1710753944,\"ev\":\"paid\"},{\"at\":1710790000,\"ev\":\"shipped\"}],"
    "\"priority\":3,\"gift\":false,\"coupon\":null,\"active\":true,"
    "\"note\":\"Leave with the neighbour at number 14 if nobody answers the door.\","
    "\"_rid\":\"uE0lAKPw2n4BAAAAAAAAAA==\",\"_etag\":\"\\\"0000d826-0000-0700-0000-5f1a2b3c0000\\\"\",\"_ts\":1710790021}";

static const char flat[] =
    "{\"id\":\"6f1c2a34-98b7-4a53-8c36-2b1e5f0a77d1\",\"pk\":\"tenant-0042\","
    "\"title\":\"A record of the kind that most tables hold\",\"count\":12345,\"ratio\":1.75,\"active\":true,"
    "\"owner\":\"someone@example.com\",\"created\":\"2024-03-18T09:26:53.589Z\",\"updated\":\"2024-03-19T10:00:00.000Z\","
    "\"summary\":\"Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut "
    "labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation.\","
    "\"size\":1048576,\"width\":1920,\"height\":1080,\"depth\":24,\"score\":0.875,\"rank\":7,\"parent\":null,"
    "\"tags\":[\"red\",\"green\",\"blue\"],\"flags\":{\"hidden\":false,\"pinned\":true,\"draft\":false},"
    "\"path\":\"/volumes/main/projects/runnel/records/2024/03/18/6f1c2a34\",\"checksum\":\"9e107d9d372bb6826bd81d3542a419d6\","
    "\"source\":\"import\",\"region\":\"westeurope\",\"version\":3,\"language\":\"en-GB\",\"mime\":\"application/json\","
    "\"comment\":\"Checked twice; the second look found nothing that the first had not already seen.\"}";

static const char foreign[] =
    "{\"id\":\"\xd0\xb4\xd0\xbe\xd0\xba-1\",\"name\":\"\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd\xe5\x8d\x83\xe4\xbb\xa3\xe7\x94\xb0\xe5\x8c\xba\","
    "\"text\":\"\xd0\x92\xd1\x81\xd0\xb5 \xd1\x81\xd1\x87\xd0\xb0\xd1\x81\xd1\x82\xd0\xbb\xd0\xb8\xd0\xb2\xd1\x8b\xd0\xb5 "
    "\xd1\x81\xd0\xb5\xd0\xbc\xd1\x8c\xd0\xb8 \xd0\xbf\xd0\xbe\xd1\x85\xd0\xbe\xd0\xb6\xd0\xb8 "
    "\xd0\xb4\xd1\x80\xd1\x83\xd0\xb3 \xd0\xbd\xd0\xb0 \xd0\xb4\xd1\x80\xd1\x83\xd0\xb3\xd0\xb0\","
    "\"mark\":\"\xf0\x9f\x9a\x80\xf0\x9f\x9a\x80\",\"n\":1}";
/* clang-format on */

struct work {
    struct rn_json json;
    struct rn_buf out;
    struct rn_view text;
    struct rn_json_path path;
    char *with_nul;
    volatile double sink;
};

static void parse_ours(struct work *w)
{
    if (rn_json_parse(&w->json, w->text, NULL))
        abort();
}

static void parse_jansson(struct work *w)
{
    json_t *root = json_loadb(w->text.at, w->text.len,
                              JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

    if (!root)
        abort();
    json_decref(root);
}

static void find_path(struct work *w)
{
    if (rn_json_path_find(&w->path, &w->json, 0) == RN_JSON_NONE)
        abort();
}

static void print_ours(struct work *w)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&w->out);

    rn_buf_clear(&w->out);
    rn_json_out_value(&o, &w->json, 0);
    if (rn_json_out_finish(&o))
        abort();
}

static void read_double(struct work *w)
{
    w->sink = rn_number_double(w->text);
}

static void read_strtod(struct work *w)
{
    w->sink = strtod(w->with_nul, NULL);
}

static void print_double(struct work *w)
{
    char text[RN_NUMBER_TEXT_MAX];

    w->sink = (double)rn_number_print(0.1 + 0.2, text);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Nanoseconds per run, of the fastest round. */
static double measure(void (*run)(struct work *), struct work *w, double secs)
{
    double best = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        double start = now(), spent;
        long runs = 0;
        do {
            for (int i = 0; i < 64; i++)
                run(w);
            runs += 64;
            spent = now() - start;
        } while (spent < secs);
        if (spent / (double)runs < best)
            best = spent / (double)runs;
    }
    return best * 1e9;
}

static void row(const char *what, double ns, size_t bytes)
{
    printf("%-34s %9.1f ns %8.3f us/KB\n", what, ns,
           ns / 1000 / ((double)bytes / 1024));
}

static void document(struct work *w, const char *name, double secs)
{
    parse_ours(w);
    printf("%s, %zu bytes, %u nodes\n", name, w->text.len, w->json.count);
    row("  parse", measure(parse_ours, w, secs), w->text.len);
    row("  parse, jansson", measure(parse_jansson, w, secs), w->text.len);
    parse_ours(w);
    row("  print compact", measure(print_ours, w, secs), w->text.len);
}

/* The compact document as JSON.stringify(x, null, 2) would show it. */
static char *indented(void)
{
    json_t *root = json_loads(compact, 0, NULL);
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);

    json_decref(root);
    return text;
}

int main(int argc, char **argv)
{
    double secs = (argc > 1 ? strtod(argv[1], NULL) : 4) / 1000;
    struct rn_arena arena = RN_ARENA_INIT(4096);
    struct work w = { .out = RN_BUF_INIT(1 << 20) };
    char *pretty = indented();

    rn_json_init(&w.json, NULL);
    w.text = RN_LIT(flat);
    document(&w, "flat record", secs);
    w.text = RN_LIT(foreign);
    document(&w, "not ASCII", secs);
    w.text = rn_view_text(pretty);
    document(&w, "order, indented", secs);
    w.text = RN_LIT(compact);
    document(&w, "order, compact", secs);
    if (rn_json_path_parse(RN_LIT("/address/geo/type"), &arena, &w.path, NULL))
        abort();
    row("  find /address/geo/type", measure(find_path, &w, secs), w.text.len);
    rn_json_release(&w.json);

    puts("numbers");
    w.with_nul = (char[]){ "54.352025" };
    w.text = rn_view_text(w.with_nul);
    row("  read 54.352025", measure(read_double, &w, secs), w.text.len);
    row("  read 54.352025, strtod", measure(read_strtod, &w, secs), w.text.len);
    w.with_nul = (char[]){ "0.30000000000000004" };
    w.text = rn_view_text(w.with_nul);
    row("  read 17 digits", measure(read_double, &w, secs), w.text.len);
    row("  print 17 digits", measure(print_double, &w, secs), w.text.len);
    rn_buf_release(&w.out);
    rn_arena_release(&arena);
    free(pretty);
    return 0;
}
