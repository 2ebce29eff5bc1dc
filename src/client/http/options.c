/* options.c -- see options.h. */
#include "client/http/options.h"

runnel_code rn_options_copy(void *to, size_t size, const void *from,
                            runnel_error *error)
{
    const unsigned char *bytes = from;
    size_t given;

    if (!from)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "an options struct is NULL that is required");
    memcpy(&given, from, sizeof(given));
    if (given < sizeof(given)) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "an options struct has no size: begin with its "
                            "_INIT macro");
    }
    for (size_t i = size; i < given; i++) {
        if (bytes[i]) {
            return rn_error_set(error, RUNNEL_BAD_REQUEST,
                                "an options struct was built for a newer "
                                "librunnel than " RUNNEL_VERSION);
        }
    }
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    return RUNNEL_OK;
}
