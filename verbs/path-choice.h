/*
 * Chooses the ports and GIDs of a connection without rdmacm. Each end lists its candidates, the
 * best first; the server chooses the first pair that fits. RoCE v2 comes before v1, and the port
 * whose interface carries the TCP connection before others, so that the RDMA port needs no IP
 * address of its own. A link-local GID never fits one that is not.
 *
 * The functions read the inventory (host/inventory.h) and the open devices, and send nothing. Any
 * thread.
 */
#ifndef VERBS_PATH_CHOICE_H
#define VERBS_PATH_CHOICE_H

#include <sys/socket.h>

#include "base/failure.h"
#include "host/inventory.h"
#include "host/path-settings.h"
#include "protocol/tcp-frames.h"

/* One of this host's GIDs. */
struct path_candidate {
	struct tcp_gid gid;
	char device[64], interface[IF_NAMESIZE];
	char text[INET6_ADDRSTRLEN]; /* of the GID */
	bool link_local;             /* on Ethernet */
	bool carries_tcp;            /* its interface has the local address of the TCP connection */
};

struct path_candidates {
	unsigned int count;
	struct path_candidate all[TCP_GIDS_MAX];
};

/*
 * Lists the candidates of the inventory that the settings allow, the best first, for a TCP
 * connection from this local address. If there is none, returns -1 with the failure recorded.
 */
int path_candidates_list(const struct inventory *inventory, const struct path_settings *settings,
	const struct sockaddr *local, struct path_candidates *candidates, struct failure *failure);

/*
 * Does the same for the running system, and completes each with the LID, MTU and partition of its
 * port. ibv_query_port(3), ibv_query_pkey(3).
 */
int path_candidates_find(const struct path_settings *settings, const struct sockaddr *local,
	struct path_candidates *candidates, struct failure *failure);

/*
 * For a server: chooses from the client's offer and its own candidates the first pair that fits.
 * If there is one, path->chosen is the client's, path->gids[0] ours, and *own its place. Otherwise
 * path->refusal says how close the best pair came, and path->gids lists ours. `reaches` is true if
 * packets from the candidate can reach the GID.
 */
void path_choose(const struct tcp_offer *offer, const struct path_candidates *candidates,
	bool (*reaches)(const struct path_candidate *from, const struct tcp_gid *to),
	struct tcp_path *path, unsigned int *own);

/* True if this host's routes to the address of this GID use the candidate's interface. */
bool path_reaches(const struct path_candidate *from, const struct tcp_gid *to);

/* Encodes the candidates as an offer. */
void path_offer(const struct path_candidates *candidates, struct tcp_offer *offer);

/* Writes "10.0.0.1 (RoCE v2, index 1)". */
#define PATH_GID_TEXT (ADDRESS_TEXT_SIZE + 40)
void path_gid_text(const struct tcp_gid *gid, char text[PATH_GID_TEXT]);

/* The address of a GID: IPv4 if it is mapped, otherwise IPv6. */
void path_gid_address(const union ibv_gid *gid, struct sockaddr_storage *address);

/* Records why the server refused, with the GIDs of both ends. Returns -1. */
int path_refused(
	struct failure *failure, const struct tcp_offer *ours, const struct tcp_path *theirs);

#endif
