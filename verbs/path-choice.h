/*
 * Chooses the ports and GIDs of a connection without rdmacm: the first pair that fits of those that
 * each end lists, the best first (verbs/path-candidates.h). A link-local GID never fits one that is
 * not, and is used only if no other pair fits: the addresses do not say which link it is on. Any
 * thread.
 */
#ifndef VERBS_PATH_CHOICE_H
#define VERBS_PATH_CHOICE_H

#include "verbs/path-candidates.h"

/* The most pairs that are looked up: a server has other clients, too. */
#define PATH_LOOKUPS 32

/* As path_reaches(). */
typedef bool path_test(const struct path_candidate *from, const struct tcp_gid *to, bool same_host);

/*
 * For a server: chooses from the client's offer and its own candidates the first pair that fits.
 * If there is one, path->chosen is the client's, path->gids[0] ours, and *own its place. Otherwise
 * path->refusal says how close the best pair came, and path->gids lists ours.
 */
void path_choose(const struct tcp_offer *offer, const struct path_candidates *candidates,
	bool same_host, path_test *reaches, struct tcp_path *path, unsigned int *own);

/* True if there are candidates, all of one port: no choice can lead to another. */
bool path_has_one_port(const struct path_candidates *candidates);

/* Encodes the candidates as an offer. */
void path_offer(const struct path_candidates *candidates, struct tcp_offer *offer);

/* Writes "10.0.0.1 (RoCE v2, index 1)". */
#define PATH_GID_TEXT (ADDRESS_TEXT_SIZE + 40)
void path_gid_text(const struct tcp_gid *gid, char text[PATH_GID_TEXT]);

/* Records why the server refused, with the GIDs of both ends. Returns -1. */
int path_refused(
	struct failure *failure, const struct tcp_offer *ours, const struct tcp_path *theirs);

#endif
