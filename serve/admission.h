/*
 * Admission of clients: checks that the server can serve a connection request and has a free slot
 * for it, and refuses it otherwise. Main thread.
 */
#ifndef SERVE_ADMISSION_H
#define SERVE_ADMISSION_H

#include "cli/options.h"
#include "rdma-common.h"
#include "serve/client-log.h"
#include "serve/slots.h"
#include "serve/totals.h"

/* The state on which admission depends. The service keeps it up to date. */
struct admission {
	const struct options *options;
	const struct exchange_settings *settings;
	struct client_log *log;
	struct totals *totals;
	struct slots slots;   /* of clients that are connecting or exchanging */
	unsigned int clients; /* all clients, including those that are closing */
	bool exclusive;       /* input or output can serve only one client at a time */
	bool used_input;      /* a client was sent data from the input */
};

/* Returns REFUSAL_NONE, or the reason to refuse the request. Sets the mode and the request. */
enum refusal admission_check(const struct admission *admission, const struct rdma_cm_event *event,
	const struct mode **mode, struct request *request);

/*
 * Returns REFUSAL_NONE, or the reason why no slot is available to a client from that address.
 * *evict is the slot to release first, whose holder is a struct connection, or NULL.
 */
enum refusal admission_capacity(
	struct admission *admission, const struct sockaddr *peer, struct slot **evict);

/*
 * Returns the slot to release so that a client from that address can be served, or NULL if none may
 * be evicted. Its holder is a struct connection.
 */
struct slot *admission_evictable(struct admission *admission, const struct sockaddr *peer);

/*
 * Like admission_capacity(), for a client that exchanges data and so needs the input and output. If
 * another client is using either of them and it cannot be shared, *evict may be set, but the result
 * is REFUSAL_BUSY until that client is freed.
 */
enum refusal admission_admit(
	struct admission *admission, const struct sockaddr *peer, struct slot **evict);

/* Refuses a request: sends the client the reason and destroys the id. rdma_reject(3). */
void admission_refuse(
	const struct admission *admission, struct rdma_cm_id *id, enum refusal refusal);

#endif
