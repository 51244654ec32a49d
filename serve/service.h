/*
 * The service: the clients of a server, from their request until they are freed, and the removal of
 * the devices that they came through. Everything here runs on the main thread.
 *
 * A client owns its connection, and the connection its rdma_cm_id. A device belongs to
 * serve/devices.h until its driver removes it. Drivers of adapters take it away from its users;
 * those of soft-RoCE and soft-iWARP wait until no process has it open, and librdmacm keeps it open
 * until the process ends: then the server has to stop.
 *
 * A client that is connecting or exchanging holds a slot (serve/slots.h). If no slot is free for a
 * new client, one that has moved no data for longer than a handshake may take is evicted.
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

/*
 * The states of a client, in their order. Clients in a state with a deadline have the same time for
 * it, so the first in the state's queue is always the next one due.
 */
enum client_state {
	CLIENT_CONNECTING, /* accepted; its MSG_MR is due within --handshake-timeout */
	CLIENT_EXCHANGING, /* no deadline here: its CQ thread enforces the idle timeout */
	CLIENT_EVICTED,    /* it is sent the reason: EVICTED_MS */
	CLIENT_CLOSING,    /* it is disconnected and drained: CLOSING_MS */
	CLIENT_ABANDONED,  /* only files of ours are still open, for however long they take */
	CLIENT_STATES
};

struct client;

TAILQ_HEAD(client_queue, client);

/* The caller sets options, output, settings, wakeups, channel and listener; it reads the others. */
struct service {
	const struct options *options;
	const struct output *output;
	struct exchange_settings settings;
	struct wakeup_queue wakeups;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* NULL: no more clients are accepted */
	struct served_devices devices;
	struct control_sessions control_sessions; /* these are no clients */
	struct client_queue clients[CLIENT_STATES];
	struct admission admission;
	uint64_t admitted;            /* clients so far, for --count */
	uint64_t bytes_before;        /* that clients which are gone have moved */
	enum exit_status first_error; /* of the first client that failed */
	bool stuck;                   /* a device was removed, and so the server has to stop */
};

/* Initialises the service. The caller has set options and output. */
void service_init(struct service *service);

/* Handles one rdmacm event, which is acknowledged already. rdma_get_cm_event(3). */
void service_event(struct service *service, const struct rdma_cm_event *event);

/* Handles what a CQ thread or a control session reports about wakeup->about. */
void service_wakeup(struct service *service, const struct wakeup *wakeup, unsigned int events);

/* Ends clients whose deadline has passed, and completes the removal of devices. */
void service_deadlines(struct service *service);

/* Milliseconds until service_deadlines() is due, -1 if it is not. */
int service_next_deadline(const struct service *service);

/* True while a client exchanges data. */
bool service_is_exchanging(const struct service *service);

/* Bytes that clients have moved so far, and the total of those that are exchanging. */
void service_progress(const struct service *service, uint64_t *bytes, uint64_t *total);

/* Accepts no more clients; the present ones may finish. */
void service_stop_listening(struct service *service);

/*
 * Ends all clients for this reason. With events_lost, it waits for no rdmacm event: clients are
 * freed when their queue pairs are drained.
 */
void service_end_clients(struct service *service, const struct failure *reason, bool events_lost);

/* True when there is no client and none can come. */
bool service_over(const struct service *service);

/* Frees the devices. All clients are gone already. */
void service_free(struct service *service);

#endif
