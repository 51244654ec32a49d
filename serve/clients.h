/*
 * The clients of a server: their places, their queues, their end; and the removal of devices that they
 * came through. Everything here runs on the main thread.
 *
 * Who owns what: a client owns its connection, and the connection its rdma_cm_id. A device is removed
 * by its driver. Those of adapters can take it away from its users; those of soft-RoCE and soft-iWARP
 * wait until nobody has it open, and librdmacm keeps it open until the process ends: then the server
 * stops, and says why.
 *
 * Every client is in one queue. Those in `connecting` were accepted and have not sent their MSG_MR yet,
 * those in `evicted` are told that they have to go, those in `closing` are disconnected and drain: all
 * have the same time for that, so these queues are in the order of their deadlines and only their
 * heads need watching. Those in `exchanging` may take as long as the peer is not silent, which their
 * CQ thread watches; those in `abandoned`, of which nothing is waited for but their own files, as long
 * as these take.
 *
 * Those in the first two queues hold a place. When there is none for a newcomer, whoever has moved
 * nothing for longer than a handshake may take gives up its own: see serve/slots.h.
 */
#ifndef SERVE_CLIENTS_H
#define SERVE_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cli/options.h"
#include "rdma-common.h"
#include "serve/control-sessions.h"
#include "serve/devices.h"
#include "serve/slots.h"

struct client;

TAILQ_HEAD(client_queue, client);

struct service {
	const struct options *options;
	const struct output *output;
	struct exchange_settings settings;
	struct wakeup_queue wakeups;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener; /* NULL: takes no more clients */
	struct served_devices devices;
	struct control_sessions
		control_sessions; /* those who diagnose: no clients, and in no queue */
	struct client_queue connecting, exchanging, evicted, closing, abandoned;
	unsigned int clients;         /* in all of them */
	struct slots slots;           /* of those who are not ending */
	uint64_t admitted;            /* clients so far */
	bool used_input;              /* a client was given our input */
	uint64_t bytes_before;        /* that those moved who are gone */
	enum exit_status first_error; /* of the first client that failed */
	bool stuck;                   /* a device was removed, and so the server has to stop */
};

/*
 * Prepares the queues and the places. The caller has set options and output, and sets the rest.
 */
void service_init(struct service *service);

/* Explains a failure on standard error. peer may be NULL. */
void service_report(const struct service *service, const struct failure *failure, const char *peer);

/* Takes one rdmacm event, which is acknowledged already. rdma_get_cm_event(3). */
void service_event(struct service *service, const struct rdma_cm_event *event);

/* Takes what a CQ thread or a control session has said about wakeup->about. */
void service_wakeup(struct service *service, const struct wakeup *wakeup, unsigned int events);

/* Ends what has taken too long. */
void service_deadlines(struct service *service);

/* Milliseconds until service_deadlines() is due, -1 if it is not. */
int service_next_deadline(const struct service *service);

/* Bytes that all clients moved so far, and that those who are here will in all. */
void service_progress(const struct service *service, uint64_t *bytes, uint64_t *total);

/* Takes no more clients; those who are there may finish. */
void service_stop_listening(struct service *service);

/*
 * Ends all clients, for this reason. With events_lost, no rdmacm event is waited for any more; they
 * are freed all the same when their queue pairs are drained.
 */
void service_end_clients(struct service *service, const struct failure *reason, bool events_lost);

/* True when there is nobody to serve and none can come. */
bool service_over(const struct service *service);

/* Frees the devices. All clients are gone already. */
void service_free(struct service *service);

#endif
