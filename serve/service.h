/*
 * The service: the clients of a server, from their request until they are freed, and the removal of
 * their devices. Everything here runs on the main thread.
 *
 * A client owns its connection, which owns its rdma_cm_id. If there is an input, the connection is
 * created only after the opener (serve/opener.h) has opened the input; until then the client owns
 * the rdma_cm_id. A device belongs to serve/devices.h
 * until its driver removes it. Drivers of hardware adapters revoke a device from its users;
 * soft-RoCE and soft-iWARP wait until no process has it open. Because librdmacm keeps it open until
 * the process exits, the server must then stop.
 *
 * A client that is connecting or exchanging holds a slot (serve/slots.h). If no slot is free for a
 * new client, a client that has moved no data for longer than the handshake timeout is evicted.
 */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cli/options.h"
#include "rdma-common.h"
#include "serve/admission.h"
#include "serve/control-sessions.h"
#include "serve/devices.h"
#include "serve/listen.h"
#include "serve/opener.h"
#include "serve/totals.h"

/*
 * States of a client, in order. All clients in a state with a deadline get the same time, so the
 * first client in the state's queue is always due first.
 */
enum client_state {
	CLIENT_OPENING,    /* not accepted yet: the input is being opened; --handshake-timeout */
	CLIENT_CONNECTING, /* accepted; MSG_MR is due within --handshake-timeout of the request */
	CLIENT_EXCHANGING, /* no deadline; the CQ thread enforces the idle timeout */
	CLIENT_EVICTED,    /* being sent the reason: EVICTED_MS */
	CLIENT_CLOSING,    /* being disconnected and drained: CLOSING_MS */
	CLIENT_ABANDONED,  /* only local files are still open, for an unlimited time */
	CLIENT_STATES
};

struct client;

TAILQ_HEAD(client_queue, client);

/* The caller sets options, output, settings, wakeups, channel and listeners; it reads the rest. */
struct service {
	const struct options *options;
	const struct output *output;
	struct exchange_settings settings;
	struct wakeup_queue wakeups;
	struct cm_channel *channel;
	struct listeners listeners; /* none: accepts no more clients */
	struct served_devices devices;
	struct control_sessions control_sessions; /* not counted as clients */
	struct opener *opener; /* started for the first client that is sent the input */
	struct client_queue clients[CLIENT_STATES];
	struct admission admission;
	struct client_log log; /* of refused clients and failed sessions */
	uint64_t admitted;     /* clients so far, for --count */
	/* Bytes of clients that have been freed while others are connected. */
	uint64_t moved_before, there_before;
	enum exit_status first_error; /* of the first client that failed */
	struct totals totals;         /* of what has ended */
	bool stuck;                   /* a device was removed, and the server must stop */
};

/* Initialises the service. The caller has set options and output. */
void service_init(struct service *service);

/* Handles one rdmacm event that has been acknowledged. rdma_get_cm_event(3). */
void service_event(struct service *service, const struct rdma_cm_event *event);

/* Handles a wakeup from a CQ thread, the opener or a control session about wakeup->about. */
void service_wakeup(struct service *service, const struct wakeup *wakeup, unsigned int events);

/*
 * Closes clients whose deadline has passed, completes the removal of devices, and prints how many
 * refusals and failures were only counted.
 */
void service_deadlines(struct service *service);

/* Clients that are being served, including diagnoses and measurements. */
unsigned int service_clients(const struct service *service);

/* What it is serving: "2 exchanges and 1 measurement"; "": nothing. */
void service_running_text(const struct service *service, char text[TOTALS_RUNNING_TEXT]);

/* One client, as others see it. The strings are valid during the call that passes it. */
struct service_client {
	const char *peer;   /* "ADDRESS:PORT" */
	const char *kind;   /* "exchange", "measurement" or "diagnosis" */
	const char *state;  /* of an exchange: "connecting", "exchanging" or "closing"; else NULL */
	const char *mode;   /* or measured operation: "write" ...; NULL: there is none yet */
	const char *device; /* the RDMA device's name */
	const char *test;   /* of a measurement: "bandwidth" or "latency"; else NULL */
	uint64_t size;      /* of a measurement: bytes per operation; else 0 */
	/* Of an exchange; for a measurement, what has moved in the tests that have ended. */
	struct progress_state progress;
};

/* Calls `take` for each client. */
void service_each(const struct service *service, void *user,
	void (*take)(void *user, const struct service_client *client));

/* Milliseconds until service_deadlines() is due; -1: no deadline. */
int service_next_deadline(struct service *service);

/* True while a client is exchanging data. */
bool service_is_exchanging(const struct service *service);

/* Returns the progress of all clients since the service was last without any. */
struct progress_state service_progress(const struct service *service);

/*
 * Returns true for each client whose transfer resumes, once, and stores its progress and address.
 */
bool service_take_resumed(struct service *service, struct progress_state *progress);

/* Stops accepting clients and refuses those whose input is being opened; others may finish. */
void service_stop_listening(struct service *service);

/*
 * Ends all clients for this reason. If events_lost is true, no more rdmacm events will arrive, so
 * clients are freed as soon as their queue pairs are drained.
 */
void service_end_clients(struct service *service, const struct failure *reason, bool events_lost);

/* True if there are no clients and none can connect. */
bool service_over(const struct service *service);

/*
 * Prints how many refusals and failures were only counted and not printed yet. All clients must
 * have been freed.
 */
void service_print_counts(struct service *service);

/* Frees the devices and prints the last counts. All clients must have been freed. */
void service_free(struct service *service);

#endif
