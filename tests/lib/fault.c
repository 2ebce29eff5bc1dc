/* fault.c -- see fault.h. */
#include "lib/fault.h"

#include <stdlib.h>

/* Names the linker gives: __wrap_x is called for x, __real_x is x itself.
 * NOLINTBEGIN(bugprone-reserved-identifier) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
void __wrap_free(void *at);

static long countdown, live;
static bool struck, held;

void rn_fault_arm(long nth)
{
    countdown = nth;
    struck = false;
}

void rn_fault_hold(bool is_held)
{
    held = is_held;
}

bool rn_fault_struck(void)
{
    return struck;
}

long rn_fault_live(void)
{
    return live;
}

static bool strikes(void)
{
    if (held || countdown == 0 || --countdown > 0)
        return false;
    struck = true;
    return true;
}

static void *counted(void *at)
{
    live += at != NULL;
    return at;
}

void *__wrap_malloc(size_t size)
{
    return strikes() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return strikes() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *at, size_t size)
{
    if (strikes())
        return NULL;
    return at ? __real_realloc(at, size) : counted(__real_malloc(size));
}

void __wrap_free(void *at)
{
    live -= at != NULL;
    __real_free(at);
}
/* NOLINTEND(bugprone-reserved-identifier) */
