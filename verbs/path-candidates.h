/*
 * This host's GIDs that a connection without rdmacm may use, the best first: RoCE v2 before v1, and
 * the port whose interface carries the TCP connection before others, so that the RDMA port needs no
 * IP address of its own. Reads the inventory (host/inventory.h) and the open devices, and sends
 * nothing. Any thread.
 */
#ifndef VERBS_PATH_CANDIDATES_H
#define VERBS_PATH_CANDIDATES_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/failure.h"
#include "host/inventory.h"
#include "host/path-settings.h"
#include "protocol/tcp-frames.h"

/* A full member of a partition has this bit; two limited members cannot communicate. */
#define PATH_PKEY_FULL   0x8000
#define PATH_PKEY_NUMBER 0x7fff

/* One of this host's GIDs. */
struct path_candidate {
	struct tcp_gid gid;
	char device[64];
};

struct path_candidates {
	unsigned int count;
	struct path_candidate all[TCP_GIDS_MAX];
};

/*
 * Lists the candidates of the inventory that the settings allow, the best first, for a TCP
 * connection from this local address: those on the interface of its GID, if it has one, before
 * others.
 */
void path_candidates_list(const struct inventory *inventory, const struct path_settings *settings,
	const struct sockaddr *local, struct path_candidates *candidates);

/* Records why the inventory has no candidate. Returns -1. */
int path_candidates_explain(const struct inventory *inventory, const struct path_settings *settings,
	struct failure *failure);

/*
 * Lists those of the running system, for a TCP connection from this local address, and completes
 * each with the LID, MTU and partition of its port. Only the devices are asked, which takes a few
 * milliseconds. If there is none, returns -1 with the failure recorded. ibv_query_port(3),
 * ibv_query_pkey(3).
 */
int path_candidates_find(const struct path_settings *settings, const struct sockaddr *local,
	struct path_candidates *candidates, struct failure *failure);

/*
 * True if the address of this GID is one of a host, and this host's routes to it use the
 * candidate's interface. same_host: the other end is a program of this host.
 */
bool path_reaches(const struct path_candidate *from, const struct tcp_gid *to, bool same_host);

#endif
