/* crud.c -- creates a database, a container and an item; changes it only if
 * nobody else has; asks a question; deletes it. */
#include <runnel/runnel.h>

#include <stdio.h>

static runnel_code set_up(runnel_client *client, runnel_container **out,
                          runnel_error *error)
{
    runnel_database_definition shop = { RUNNEL_DATABASE_INIT, .id = "shop",
                                        .if_absent = true };
    runnel_container_definition orders = { RUNNEL_CONTAINER_INIT,
                                           .id = "orders",
                                           .partition_key = "/customer",
                                           .if_absent = true };
    runnel_code rc = runnel_database_create(client, &shop, NULL, error);

    if (!rc)
        rc = runnel_container_create(client, "shop", &orders, NULL, error);
    if (!rc)
        rc = runnel_container_open(client, "shop", "orders", out, error);
    return rc;
}

static runnel_code ship(runnel_container *orders, runnel_key key,
                        runnel_error *error)
{
    runnel_item_options options = { RUNNEL_ITEM_INIT };
    runnel_reply *reply = NULL;
    runnel_code rc = runnel_item_read(orders, key, NULL, &reply, error);

    if (rc)
        return rc;
    options.if_match = runnel_reply_etag(reply);
    rc = runnel_item_patch(
        orders, key,
        runnel_text("[{\"op\":\"set\",\"path\":\"/shipped\",\"value\":true}]"),
        &options, NULL, error);
    runnel_reply_close(reply);
    return rc; /* RUNNEL_PRECONDITION: somebody else was faster */
}

static runnel_code print_large(runnel_container *orders, runnel_error *error)
{
    runnel_query_options options = {
        RUNNEL_QUERY_INIT,
        .text = "SELECT c.customer, SUM(c.total) AS sum FROM c "
                "WHERE c.total > @least GROUP BY c.customer",
        .parameters = "[{\"name\":\"@least\",\"value\":10}]"
    };
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    runnel_code rc = runnel_query_open(orders, &options, &query, error);

    while (!rc && !(rc = runnel_query_next(query, &page, error)) && page) {
        for (size_t i = 0; i < runnel_page_count(page); i++) {
            runnel_bytes row = runnel_page_at(page, i);
            printf("%.*s\n", (int)row.len, row.at);
        }
        runnel_page_close(page);
    }
    runnel_query_close(query);
    return rc;
}

int main(int argc, char **argv)
{
    runnel_client_options options = {
        RUNNEL_CLIENT_INIT,
        .endpoint = argc > 1 ? argv[1] : "http://localhost:8081"
    };
    runnel_key key = { .partition_key = "\"eve\"", .id = "1" };
    runnel_container *orders = NULL;
    runnel_client *client = NULL;
    runnel_error error;
    runnel_code rc;

    rc = runnel_client_open(&options, &client, &error);
    if (!rc)
        rc = set_up(client, &orders, &error);
    if (!rc)
        rc = runnel_item_upsert(
            orders,
            runnel_text("{\"id\":\"1\",\"customer\":\"eve\",\"total\":12.5}"),
            NULL, NULL, &error);
    if (!rc)
        rc = ship(orders, key, &error);
    if (!rc)
        rc = print_large(orders, &error);
    if (!rc)
        rc = runnel_item_delete(orders, key, NULL, &error);
    if (rc)
        fprintf(stderr, "crud: %s (%s)\n", error.message, runnel_code_name(rc));

    runnel_container_close(orders);
    runnel_client_close(client);
    return rc ? 1 : 0;
}
