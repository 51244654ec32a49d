/*
 * The server's half of a diagnosis: it does what the client orders (protocol/command.h), one thing after
 * another, on a thread of its own, and so beside everything else that the server does. The thread owns
 * the connection, from the request on, with an event channel of its own: the main thread has nothing
 * to do with it but to join the thread.
 */
#ifndef SERVE_CONTROL_SESSIONS_H
#define SERVE_CONTROL_SESSIONS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "rdma-common.h"
#include "serve/slots.h"

/* Diagnoses at a time; one more is refused. */
#define CONTROL_SESSIONS_MAX 4

struct control_session;

/* What the server is when a diagnosis begins, which its thread may not ask the main thread's data. */
struct control_server {
	const char *mode;           /* "any" or the one; static */
	unsigned int clients, most; /* places that are taken, of so many */
	enum refusal room;          /* what an exchange would be refused with for want of a place */
};

/* All diagnoses of a server. */
struct control_sessions {
	TAILQ_HEAD(, control_session) all;
	struct slots
		slots; /* theirs, apart from those of clients: a full server can be diagnosed */
};

/* Of the places, one address gets so many at most; 0: all. Main thread, as all functions here. */
void control_sessions_init(
	struct control_sessions *control_sessions, unsigned int most_per_address);

/*
 * Starts to answer the client of this request, and takes its id over: REFUSAL_NONE; or else says why
 * it cannot be. session and its mailbox outlive the answers; server is copied. rdma_migrate_id(3).
 */
enum refusal control_sessions_take(struct control_sessions *control_sessions,
	const struct exchange_settings *settings, const struct control_server *server,
	const struct rdma_cm_event *request, const struct hello *theirs);

/* Takes notes from the session's mailbox. Returns false if the slip is not about a diagnosis. */
bool control_sessions_take_event(struct control_sessions *control_sessions,
	const struct wakeup *wakeup, unsigned int events);

/* Ends all of them soon, whatever they wait for. */
void control_sessions_stop(struct control_sessions *control_sessions);

#endif
