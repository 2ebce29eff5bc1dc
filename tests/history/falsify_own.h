/* falsify_own.h -- what liars know of a history. */
#ifndef RN_TEST_LIES_OWN_H
#define RN_TEST_LIES_OWN_H

#include "history/falsify.h"

bool lie_is_read(const struct history_entry *e);
bool lie_acked(const struct history_entry *e);
/* The acknowledged write of a document's version, or NULL. */
struct history_entry *lie_writer(struct simulated_history *w, uint32_t document,
                                 uint64_t lsn);
/* May a write without an answer have changed what it found? */
bool lie_is_doubtful(const struct simulated_history *w,
                     const struct history_entry *e);

/* falsify_feed.c */
bool lie_a_feed_skips_a_change(struct simulated_history *w,
                               struct history_entry *e);
bool lie_a_feed_swaps_two_changes(struct simulated_history *w,
                                  struct history_entry *e);
bool lie_a_feed_repeats_a_change(struct simulated_history *w,
                                 struct history_entry *e);
bool lie_a_304_hides_a_change(struct simulated_history *w,
                              struct history_entry *e);
bool lie_a_reader_is_moved_on(struct simulated_history *w,
                              struct history_entry *e);
bool lie_a_page_is_of_the_past(struct simulated_history *w,
                               struct history_entry *e);
bool lie_a_reader_who_goes_back_is_moved_on(struct simulated_history *w,
                                            struct history_entry *e);
bool lie_a_page_is_longer_than_asked_for(struct simulated_history *w,
                                         struct history_entry *e);
bool lie_a_page_divides_a_transaction(struct simulated_history *w,
                                      struct history_entry *e);
bool lie_a_page_is_of_another_key(struct simulated_history *w,
                                  struct history_entry *e);
bool lie_a_change_is_twice_in_a_page(struct simulated_history *w,
                                     struct history_entry *e);
bool lie_a_feed_gives_what_was_replaced(struct simulated_history *w,
                                        struct history_entry *e);
bool lie_what_was_undone_is_read(struct simulated_history *w,
                                 struct history_entry *e);
bool lie_what_was_undone_is_in_a_feed(struct simulated_history *w,
                                      struct history_entry *e);
bool lie_a_backup_lacks_what_was_answered(struct simulated_history *w,
                                          struct history_entry *e);
bool lie_a_backup_has_what_was_sent_later(struct simulated_history *w,
                                          struct history_entry *e);

#endif
