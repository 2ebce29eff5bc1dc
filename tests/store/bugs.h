/* bugs.h -- switching on a wrong variant of the store by its name. */
#ifndef TESTS_STORE_BUGS_H
#define TESTS_STORE_BUGS_H

#include <stdbool.h>

/* False if there is none of that name, as in every build without RN_BUGS. */
bool bug_switch_on(const char *name);

#endif
