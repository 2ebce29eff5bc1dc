/* live_tls_test.c -- certificates, at a server with an authority of its own.
 *
 * Goal: no server is spoken to whose certificate does not hold, by default.
 * Method: the same server by a client that knows its authority, by one that
 * does not, and by one that accepts any certificate.
 */
#include "client/live.h"

#include <stdlib.h>
#include <string.h>

static runnel_code ask(runnel_client_options o, runnel_error *error)
{
    runnel_client *client = NULL;
    runnel_code rc;

    o.endpoint = getenv("RUNNEL_ENDPOINT");
    o.proxy = getenv("RUNNEL_PROXY");
    o.retry_limit = 1;
    rc = runnel_client_open(&o, &client, error);
    if (!rc)
        rc = runnel_database_read(client, "nowhere", NULL, error);
    runnel_client_close(client);
    return rc;
}

static void a_known_authority_is_trusted(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    runnel_error error = { 0 };

    (void)state;
    o.ca_file = getenv("RUNNEL_CA_FILE");
    must_be(ask(o, &error), RUNNEL_NOT_FOUND);
}

static void a_stranger_is_not(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    runnel_error error = { 0 };

    (void)state;
    must_be(ask(o, &error), RUNNEL_UNREACHABLE);
    assert_non_null(strstr(error.message, "certificate"));
}

static void any_certificate_is_taken_by_an_option(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .insecure_tls = true };
    runnel_error error = { 0 };

    (void)state;
    must_be(ask(o, &error), RUNNEL_NOT_FOUND);
}

static void an_authority_that_cannot_be_read_is_an_error(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .ca_file = "/nowhere" };
    runnel_error error = { 0 };

    (void)state;
    must_be(ask(o, &error), RUNNEL_BAD_REQUEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_authority_is_trusted),
        cmocka_unit_test(a_stranger_is_not),
        cmocka_unit_test(any_certificate_is_taken_by_an_option),
        cmocka_unit_test(an_authority_that_cannot_be_read_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
