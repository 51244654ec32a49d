/*
 * The client's half of a connection on which orders go (lib/order.h): it connects, proves that it holds
 * the secret, and gives orders. A diagnosis and a measurement do. Main thread.
 */
#ifndef RDMA_ASK_H
#define RDMA_ASK_H

#include "lib/counters.h"
#include "lib/introduction.h"
#include "rdma-probe.h"

struct ask {
	struct probe probe;
	bool open;       /* there is a probe: ask_close() it */
	uint32_t orders; /* that were given */
};

/* What is asked for, and what for. */
struct ask_wish {
	enum session_kind kind;
	uint32_t timeout; /* milliseconds that we bear of silence, for the server to know */
	uint32_t queue_pairs, depth; /* there is to be room for */
	uint8_t reads;               /* READs at a time, in either direction */
};

/*
 * Makes what is needed to connect to that server, with the secret, which may be NULL. Returns 0, or -1
 * with the probe's failure recorded, like all functions here. rdma_create_id(3).
 */
int ask_open(struct ask *ask, const struct sockaddr *server, const struct secret *secret);

/* Finds device and route; source may be NULL. rdma_resolve_addr(3), rdma_resolve_route(3). */
int ask_resolve(struct ask *ask, const struct sockaddr *source, const struct sockaddr *server,
	deadline_t deadline);

/* Connects. *answer gets what the server said of itself. rdma_connect(3). */
int ask_connect(struct ask *ask, const struct ask_wish *wish, deadline_t deadline,
	struct event_copy *answer);

/* Whether the server's answer fits; and with a secret, whether both hold it. */
int ask_admission(struct ask *ask, const struct ask_wish *wish, const struct event_copy *answer,
	deadline_t deadline);

/* Gives an order and waits for its answer, which says that it was carried out. */
int ask_order(struct ask *ask, struct order *order, struct order *answer, deadline_t deadline);

/* Tells the server of our memory, and hears of its own. */
int ask_region(struct ask *ask, deadline_t deadline);

/* Asks what the server is. */
int ask_facts(struct ask *ask, struct facts *facts, deadline_t deadline);

/* The counters of our port, none if they are not known, and of the server's. */
void ask_count_here(const struct ask *ask, struct counters *counters);
int ask_count_there(struct ask *ask, struct counters *counters, deadline_t deadline);

void ask_close(struct ask *ask);

#endif
