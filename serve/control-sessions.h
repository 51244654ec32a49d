/*
 * The server side of diagnoses and measurements: executes the client's commands
 * (protocol/command.h) one after another, on one thread per session, concurrently with the rest of
 * the server. The thread owns the connection from the request on, with its own event channel; the
 * main thread only starts and joins it.
 */
#ifndef SERVE_CONTROL_SESSIONS_H
#define SERVE_CONTROL_SESSIONS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "protocol/test-parameters.h"
#include "rdma-common.h"
#include "serve/client-log.h"
#include "serve/slots.h"
#include "serve/totals.h"

/* Maximum number of concurrent sessions. */
#define CONTROL_SESSIONS_MAX 4

struct control_session;

/* The server's state when a session begins: its thread must not read the main thread's data. */
struct control_server {
	const char *mode;           /* "any", "write", "read" or "send"; static */
	unsigned int clients, most; /* client slots taken and available in total */
	enum refusal full;          /* the reason to refuse an exchange, or REFUSAL_NONE */
	struct cm_channel *channel; /* that the request arrived on */
};

/* All sessions of a server. They have separate slots, so that a full server can be diagnosed. */
struct control_sessions {
	TAILQ_HEAD(, control_session) all;
	struct slots slots;
	struct client_log *log; /* the caller's, which outlives the sessions, like the totals */
	struct totals *totals;
};

/* Limits each address to this many slots; 0: no limit. Main thread, like all functions here. */
void control_sessions_init(struct control_sessions *control_sessions, unsigned int most_per_address,
	struct client_log *log, struct totals *totals);

/*
 * Starts a session for the client of this request and takes ownership of its id. Returns
 * REFUSAL_NONE, or the reason for refusing it. The settings outlive the session; server is copied.
 * rdma_migrate_id(3).
 */
enum refusal control_sessions_take(struct control_sessions *control_sessions,
	const struct exchange_settings *settings, const struct control_server *server,
	const struct rdma_cm_event *request, const struct hello *theirs);

/* Handles a wakeup from the settings' queue. Returns false if it does not concern a session. */
bool control_sessions_take_event(struct control_sessions *control_sessions,
	const struct wakeup *wakeup, unsigned int events);

/* Counts the measurements and diagnoses that are running; one of several threads is one. */
void control_sessions_count(const struct control_sessions *control_sessions,
	unsigned int *measurements, unsigned int *diagnoses);

/* One of them, as others see it. The strings are valid during the call that passes it. */
struct control_session_state {
	const char *peer;            /* "ADDRESS:PORT" */
	const char *kind;            /* "measurement" or "diagnosis" */
	const char *device;          /* the RDMA device's name */
	struct test_parameters test; /* the last that has begun; its size is 0 before the first */
	uint64_t moved;              /* bytes of the measured tests that have ended */
};

/* Calls `take` for each of them. */
void control_sessions_each(const struct control_sessions *control_sessions, void *user,
	void (*take)(void *user, const struct control_session_state *state));

/* Stops all sessions: every wait ends. */
void control_sessions_stop(struct control_sessions *control_sessions);

#endif
