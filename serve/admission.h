/*
 * Admission of clients to a server: whether the server can serve what a connection request asks
 * for, whether a slot is free for it, and the refusal if not. Main thread.
 */
#ifndef SERVE_ADMISSION_H
#define SERVE_ADMISSION_H

#include "cli/options.h"
#include "rdma-common.h"
#include "serve/slots.h"

/* What decides about a request. The service keeps it up to date. */
struct admission {
	const struct options *options;
	const struct exchange_settings *settings;
	struct slots slots;   /* of the clients that are not ending */
	unsigned int clients; /* all of them, the ending ones included */
	bool used_input;      /* a client was sent data from our input */
};

/* Why a request cannot be served, or REFUSAL_NONE. Sets its mode, and what the request says. */
enum refusal admission_check(const struct admission *admission, const struct rdma_cm_event *event,
	const struct mode **mode, struct request *request);

/*
 * Why there is no slot for a client from that address, or REFUSAL_NONE. *evict is the slot to
 * release for it first, whose holder is a struct connection, or NULL.
 */
enum refusal admission_capacity(
	struct admission *admission, const struct sockaddr *peer, struct slot **evict);

/*
 * The same for a client that will exchange data, and so needs our input and output. If another
 * client has one that cannot be shared, it may be evicted, but REFUSAL_BUSY lasts until it is gone.
 */
enum refusal admission_admit(
	struct admission *admission, const struct sockaddr *peer, struct slot **evict);

/* Refuses a request, sends the client the reason, and destroys its id. rdma_reject(3). */
void admission_refuse(
	const struct admission *admission, struct rdma_cm_id *id, enum refusal refusal);

#endif
