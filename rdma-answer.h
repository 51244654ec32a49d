/*
 * The server's half of a diagnosis: it does what the client orders (lib/order.h), one thing after
 * another, on a thread of its own, and so beside everything else that the server does. The thread owns
 * the connection, from the request on, with an event channel of its own: the main thread has nothing
 * to do with it but to join the thread.
 */
#ifndef RDMA_ANSWER_H
#define RDMA_ANSWER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "lib/places.h"
#include "rdma-common.h"

/* Diagnoses at a time; one more is refused. */
#define ANSWERS_MAX 4

struct answer;

/* What the server is when a diagnosis begins, which its thread may not ask the main thread's data. */
struct answer_server {
	const char *mode;           /* "any" or the one; static */
	unsigned int clients, most; /* places that are taken, of so many */
	enum refusal room;          /* what an exchange would be refused with for want of a place */
};

/* All diagnoses of a server. */
struct answers {
	TAILQ_HEAD(, answer) all;
	struct places
		places; /* theirs, apart from those of clients: a full server can be diagnosed */
};

/* Of the places, one address gets so many at most; 0: all. Main thread, as all functions here. */
void answers_init(struct answers *answers, unsigned int most_per_address);

/*
 * Starts to answer the client of this request, and takes its id over: REFUSAL_NONE; or else says why
 * it cannot be. session and its mailbox outlive the answers; server is copied. rdma_migrate_id(3).
 */
enum refusal answers_take(struct answers *answers, const struct session *session,
	const struct answer_server *server, const struct rdma_cm_event *request,
	const struct introduction *theirs);

/* Takes notes from the session's mailbox. Returns false if the slip is not about a diagnosis. */
bool answers_note(struct answers *answers, const struct slip *slip, unsigned int notes);

/* Ends all of them soon, whatever they wait for. */
void answers_stop(struct answers *answers);

#endif
