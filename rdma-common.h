/*
 * The verbs module that server and client share: a device context (completion channel and the
 * thread that polls it) and the connection (queue pair, completion queue, protection domain,
 * registered memory and one exchange).
 *
 * Two threads meet here. The main thread takes rdmacm events; it creates a connection, posts its
 * receives, connects or accepts, and from then on only asks. The CQ thread of the device runs the
 * exchange: it polls the connection's completion queue, steps the state machine and posts what that
 * calls for. They talk through mailboxes and share nothing else:
 *
 *   main                                      CQ thread
 *   connection_create(): receives posted
 *                              ------------>  knows it, before any completion can come
 *   connection_connect() / _accept()
 *   connection_established()   ------------>  exchange runs: posts, polls, verifies, prints
 *                              <------------  CONNECTION_FINISHED: done, or failed
 *   connection_close()         ------------>  waits until every posted work request is back,
 *                              <------------  decides the outcome: CONNECTION_DRAINED
 *   connection_destroy()
 *
 * So the queue pair is posted to by main before connect or accept, and by the CQ thread after; and
 * nothing is freed before the CQ thread has said that it is done with it.
 *
 * The mailbox of the main thread is drained by taking slips from it: slip->about is the connection.
 */
#ifndef RDMA_COMMON_H
#define RDMA_COMMON_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/address.h"
#include "lib/failure.h"
#include "lib/introduction.h"
#include "lib/mailbox.h"
#include "lib/mode.h"
#include "lib/output.h"

/* The size of a region, in bytes: that of the tutorial. A message and its zero fit into it. */
#define REGION_SIZE 1024

/* What all exchanges of this process have in common. Constant while there are connections. */
struct session {
	const struct output *output;
	struct mailbox *mailbox; /* of the main thread */
	const char *message;     /* what we offer, a text */
	size_t message_size;     /* with its terminating zero, at most REGION_SIZE */
	bool active;             /* the client's side */
};

/* Notes to the main thread. */
enum connection_note {
	CONNECTION_FINISHED = 1 << 0, /* the exchange is over: connection_close() it */
	CONNECTION_DRAINED = 1 << 1, /* all work requests are back: connection_outcome() is known */
	CONNECTION_ABANDONED = 1 << 2,
};

struct device;
struct connection;

/*
 * Makes the context for one RDMA device and starts its CQ thread. verbs belongs to librdmacm and
 * must stay open until device_stop(): hold an rdma_cm_id that is bound to the device. Returns 0, or
 * -1 with the failure recorded. Main thread. ibv_create_comp_channel(3).
 */
int device_start(struct ibv_context *verbs, struct device **device, struct failure *failure);

/*
 * Ends and joins the CQ thread and frees the context; all its connections are destroyed already.
 * NULL is allowed. Main thread.
 */
void device_stop(struct device *device);

/* The device's name as `rdma link` shows it. Any thread. */
const char *device_name(const struct device *device);

/*
 * Makes everything that an exchange in this mode with the peer of id needs, and posts its receives.
 * Whether the peer is a tutorial program matters on the passive side only; the active side learns
 * it in connection_established(). session and device outlive the connection, which owns id from
 * success on. Returns 0, or -1 with the failure recorded and nothing kept. Main thread.
 * rdma_create_qp(3), ibv_reg_mr(3).
 */
int connection_create(const struct session *session, const struct mode *mode, struct rdma_cm_id *id,
	struct device *device, bool tutorial, struct connection **connection,
	struct failure *failure);

/* True if this mode needs RDMA READ. Any thread. */
bool connection_reads(const struct mode *mode);

/* Asks for the connection, with our introduction. Returns 0 or -errno. Main. rdma_connect(3). */
int connection_connect(struct connection *connection);

/*
 * Accepts the request that came with these parameters, with our introduction unless the peer is a
 * tutorial program. Returns 0 or -errno. Main. rdma_accept(3).
 */
int connection_accept(struct connection *connection, const struct rdma_conn_param *request);

/*
 * Hands the connection to the CQ thread, when rdmacm reports it established with these parameters.
 * Returns 0, or -1 with the failure recorded if the peer's introduction does not fit ours. Main.
 */
int connection_established(struct connection *connection, const struct rdma_conn_param *answer,
	struct failure *failure);

/*
 * Disconnects, and asks the CQ thread to drain the queue pair; CONNECTION_DRAINED will follow. The
 * reason, which may be NULL, becomes the outcome unless the exchange is complete or the CQ thread
 * met a failure of its own. Later calls do nothing. Main. rdma_disconnect(3).
 */
void connection_close(struct connection *connection, const struct failure *reason);

/* The same when rdmacm reports that the peer has disconnected, or has confirmed our disconnect. */
void connection_disconnected(struct connection *connection);

/*
 * The same without waiting for work requests that will not come back (the device is gone, or took
 * too long): CONNECTION_DRAINED follows at once. Main.
 */
void connection_abandon(struct connection *connection, const struct failure *reason);

/* True if the notes taken from the connection's slip say that it may be destroyed. Main. */
bool connection_drained(struct connection *connection, unsigned int notes);

/*
 * How the exchange ended: a failure, or none set if it is complete and verified. Valid from
 * CONNECTION_DRAINED until connection_destroy(). Main.
 */
const struct failure *connection_outcome(const struct connection *connection);

/* Frees all, the rdma_cm_id too. Only when drained, or before it was connected. Main. */
void connection_destroy(struct connection *connection);

/* The peer as "address:port". Any thread. */
const char *connection_peer(const struct connection *connection);

/* What the main thread keeps with the connection. Main. */
void connection_set_owner(struct connection *connection, void *owner);
void *connection_owner(const struct connection *connection);

/*
 * Turns an rdmacm event that reports a failure into one: a positive REJECTED status is an
 * InfiniBand reason, everything else a negative errno; a refusal of our own server is decoded.
 * peer names the server in the sentence. Main. rdma_get_cm_event(3).
 */
void failure_from_event(struct failure *failure, const struct rdma_cm_event *event,
	enum phase phase, const char *peer);

/*
 * Loads the providers that this host's devices probably need, so that libibverbs need not load all.
 * Optional, and only of use before the first call of librdmacm or libibverbs. Main.
 */
void providers_preload(void);

/* Opens the event channel, non-blocking, or records why this host cannot. Main. */
struct rdma_event_channel *channel_open(struct failure *failure);

/*
 * The next event, NULL if none waits; the caller acknowledges it. -errno goes to *error if the
 * channel is broken. Main. rdma_get_cm_event(3).
 */
struct rdma_cm_event *channel_event(struct rdma_event_channel *channel, int *error);

/* An event that outlives its acknowledgement, with its private data. */
struct event_copy {
	struct rdma_cm_event event;
	uint8_t private_data[UINT8_MAX];
};

/* Copies an event before it is acknowledged. Main. */
void channel_copy(struct event_copy *copy, const struct rdma_cm_event *event);

/* Blocks SIGINT and SIGTERM for all threads and returns a descriptor to read them, or -errno. */
int signals_open(void);

/* Reads a signal from that descriptor: its number, 0 if none waits. signalfd(2). */
int signals_read(int descriptor);

#endif
