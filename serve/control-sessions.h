/*
 * The server's half of diagnoses and measurements: it carries out the client's commands
 * (protocol/command.h), one after another, on a thread for each session, beside everything else
 * that the server does. The thread owns the connection, from the request on, with an event channel
 * of its own; the main thread only starts and joins it.
 */
#ifndef SERVE_CONTROL_SESSIONS_H
#define SERVE_CONTROL_SESSIONS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "rdma-common.h"
#include "serve/slots.h"

/* Sessions at a time; one more is refused. */
#define CONTROL_SESSIONS_MAX 4

struct control_session;

/* The state of the server when a session begins: its thread may not read the main thread's data. */
struct control_server {
	const char *mode;           /* "any", "write" or "read"; static */
	unsigned int clients, most; /* slots of clients that are taken, and all of them */
	enum refusal full; /* why an exchange would be refused; REFUSAL_NONE: it would not */
};

/*
 * All sessions of a server. They have slots of their own, so that a full server can be diagnosed.
 */
struct control_sessions {
	TAILQ_HEAD(, control_session) all;
	struct slots slots;
};

/* One address gets at most that many of the slots; 0: all. Main thread, as all functions here. */
void control_sessions_init(
	struct control_sessions *control_sessions, unsigned int most_per_address);

/*
 * Starts a session for the client of this request, and takes its id over: REFUSAL_NONE; otherwise
 * returns the reason for refusing it. The settings outlive the session; server is copied.
 * rdma_migrate_id(3).
 */
enum refusal control_sessions_take(struct control_sessions *control_sessions,
	const struct exchange_settings *settings, const struct control_server *server,
	const struct rdma_cm_event *request, const struct hello *theirs);

/*
 * Takes events from the wakeup queue of the settings. False if the wakeup is not about a session.
 */
bool control_sessions_take_event(struct control_sessions *control_sessions,
	const struct wakeup *wakeup, unsigned int events);

/* Ends all of them soon, whatever they wait for. */
void control_sessions_stop(struct control_sessions *control_sessions);

#endif
