/*
 * Who is let in to a server: whether what a request asks for fits what the server does, whether there
 * is a place for it, and the answer if not. Main thread.
 */
#ifndef SERVE_ADMISSION_H
#define SERVE_ADMISSION_H

#include "serve/clients.h"

/* Why a request cannot be served, or REFUSAL_NONE; sets its mode and what we know of the client. */
enum refusal admission_judge(const struct service *service, const struct rdma_cm_event *event,
	const struct mode **mode, struct request *request);

/*
 * Whether a client from that address, which is no diagnosis, finds a place: why not, or REFUSAL_NONE.
 * Then *idlest is NULL, or the place that has to be given up for it, whose holder is a connection.
 */
enum refusal admission_capacity(
	struct service *service, const struct sockaddr *peer, struct slot **idlest);

/*
 * The same for one that is to be let in, who needs our input and output, too. If another one has what
 * only one can have, and has been idle for long enough to go, *idlest is its place.
 */
enum refusal admission_let_in(
	struct service *service, const struct sockaddr *peer, struct slot **idlest);

/* Refuses a request, tells the client why, and frees its id. rdma_reject(3). */
void admission_refuse(const struct service *service, struct rdma_cm_id *id, enum refusal refusal);

#endif
