/* nearest.c -- see nearest.h. */
#include "base/nearest.h"

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Rows of the dynamic programming table: the one being filled, and the two
 * before it. */
static unsigned distance(struct rn_view a, struct rn_view b)
{
    unsigned rows[3][RN_NEAREST_MAX + 1];

    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a.len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = a.at[i - 1] == b.at[j - 1];

            row[j] =
                least(least(row[j - 1], above[j]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] &&
                a.at[i - 2] == b.at[j - 1])
                row[j] = least(row[j], rows[(i + 1) % 3][j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

void rn_nearest_offer(struct rn_nearest *n, const char *word)
{
    struct rn_view offered = rn_view_text(word);
    unsigned limit = (unsigned)n->word.len / 3, far;

    if (n->word.len > RN_NEAREST_MAX || offered.len > RN_NEAREST_MAX)
        return;
    far = distance(n->word, offered);
    if (far > (limit > 1 ? limit : 1) || (n->found && far >= n->distance))
        return;
    n->found = word;
    n->distance = far;
}
