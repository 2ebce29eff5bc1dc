/* places.c -- a list of places of documents, collected to be sorted. */
#include "access/places.h"

enum rn_code rn_access_places_add(struct rn_access_places *p,
                                  const struct rn_access_place *place)
{
    struct rn_access_place copy = *place;

    copy.place = rn_arena_copy(&p->held, place->place);
    if (!copy.place.at)
        return RN_TOO_LARGE;
    return rn_buf_add(&p->list, rn_view_of(&copy, sizeof(copy)));
}

void rn_access_places_release(struct rn_access_places *p)
{
    rn_buf_release(&p->list);
    rn_arena_release(&p->held);
}
