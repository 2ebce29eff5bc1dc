/* reload.h -- the files that a running server reads again when they change:
 * certificates, keys and the metrics token. */
#ifndef RN_SERVER_RELOAD_H
#define RN_SERVER_RELOAD_H

#include "server/server.h"

enum { RN_SERVER_QUIET_MS = 400 };

/* Reloads certificates, keys and the metrics token, each by itself, and logs
 * the results.  What fails to load leaves the old ones in use. */
void rn_server_reload(struct rn_server *s);

/* Have the files of a reload changed since they were read, and are they stable?
 * Returns in how many milliseconds to look again in any case; -1: when
 * rn_server_watch_fd, which is a new descriptor after each look, is readable
 * and RN_SERVER_QUIET_MS have passed, but at least once a day, because an
 * automatic certificate expires without a change of a file.  Thread: the one
 * that reloads. */
int rn_server_look(struct rn_server *s, bool *is_outdated);
int rn_server_watch_fd(const struct rn_server *s); /* -1: none */

/* ---- for server.c -------------------------------------------------------- */

enum { RN_RELOAD_FILES = 4 }; /* that a reload reads; the keys last */

/* Notes the state of the files, from the index `first` on, before they are
 * read. */
void rn_reload_note_files(struct rn_server *s, size_t first);
enum rn_code rn_reload_certificate(struct rn_server *s,
                                   struct rn_err *err) RN_CHECK;
/* Creates or renews the automatic certificate, which only loopback needs. */
void rn_reload_ensure_certificate(struct rn_server *s);
bool rn_reload_has_keys(const struct rn_options *o);
/* Logs where new keys are, unless they were there before. */
void rn_reload_log_keys(struct rn_server *s, bool were_there);

#endif
