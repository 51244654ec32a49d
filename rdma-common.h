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
 *   connection_established()   ------------>  exchange runs: posts, polls, moves data, prints
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

#include "base/address.h"
#include "base/deadline.h"
#include "base/failure.h"
#include "base/output.h"
#include "base/wakeup-queue.h"
#include "exchange/report.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "protocol/secret.h"
#include "stream/output-file.h"
#include "verbs/device.h"

/*
 * How hard the transport tries. A lost packet is sent again after TRANSPORT_ACK_TIMEOUT (4.096 us *
 * 2^17, half a second), TRANSPORT_RETRIES times: as often as can be, which an adapter does for about
 * four seconds and soft-RoCE for ever. So a link may fail for a while; --timeout ends what lasts. The
 * active side's numbers hold for both. A receiver that is not ready is asked again for ever (7): a
 * tutorial peer posts its second receive late, and the deadline ends the rest.
 */
#define TRANSPORT_ACK_TIMEOUT 17
#define TRANSPORT_RETRIES     7
#define TRANSPORT_RNR_RETRIES 7

/* What all exchanges of this process have in common. Constant while there are connections. */
struct exchange_settings {
	const struct output *output;
	struct wakeup_queue *wakeups; /* of the main thread */
	const char *message;          /* what we send without an input, a text */
	size_t message_size;          /* with its terminating zero, at most SINK_TEXT_SIZE */
	const char *input;            /* what we send; NULL: the message */
	struct output_file_options
		output_file;       /* where the peer's data goes; output NULL: it is shown */
	uint64_t buffer;           /* registered bytes of data of a connection, both ways */
	uint32_t chunk, depth;     /* 0: what suits the device */
	int64_t timeout;           /* of the peer's silence, milliseconds */
	const char *secret_file;   /* NULL: none */
	struct secret *secret;     /* what it holds */
	int64_t handshake_timeout; /* the passive side's: from a request to the peer's MSG_MR */
	uint64_t max_size;         /* bytes that the peer may send; 0: any number */
	bool active;               /* the client's side */
};

/* What the passive side knows of a client from its request. */
struct request {
	bool tutorial;                                /* it is a program of the tutorial */
	struct hello theirs;                          /* else what it says of itself */
	uint8_t hello_bytes[SECRET_HELLO_SIZE];       /* the same as it came, if it has a secret */
	uint8_t initiator_depth, responder_resources; /* of rdmacm's parameters, as they came */
};

/* Notes to the main thread. */
enum connection_event {
	CONNECTION_FINISHED = 1 << 0, /* the exchange is over: connection_close() it */
	CONNECTION_DRAINED = 1 << 1, /* all work requests are back: connection_outcome() is known */
	CONNECTION_ABANDONED = 1 << 2,
	CONNECTION_MET = 1 << 3,      /* the passive side's: the peer's MSG_MR is here */
	CONNECTION_ADMITTED = 1 << 4, /* the peer has proved that it holds our secret */
};

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

/*
 * Makes everything that an exchange in this mode with the peer of id needs, and posts its receives.
 * request is NULL on the active side, which learns in connection_established() who the peer is and
 * makes the rest then. session and device outlive the connection, which owns id from success on.
 * Returns 0, or -1 with the failure recorded and nothing kept. Main thread. rdma_create_qp(3),
 * ibv_reg_mr(3).
 */
int connection_create(const struct exchange_settings *settings, const struct mode *mode,
	struct rdma_cm_id *id, struct device *device, const struct request *request,
	struct connection **connection, struct failure *failure);

/* True if this mode needs RDMA READ. Any thread. */
bool connection_reads(const struct mode *mode);

/* Asks for the connection, with our introduction. Returns 0 or -errno. Main. rdma_connect(3). */
int connection_connect(struct connection *connection);

/*
 * Accepts the request, with our introduction unless the peer is a tutorial program. Returns 0 or
 * -errno. Main. rdma_accept(3).
 */
int connection_accept(struct connection *connection);

/*
 * Hands the connection to the CQ thread, when rdmacm reports it established with these parameters.
 * From then on that thread watches for the peer's silence. Returns 0, or -1 with the failure recorded
 * if the peer's introduction does not fit ours, or there is no memory for its data. Main.
 */
int connection_established(struct connection *connection, const struct rdma_conn_param *reply,
	struct failure *failure);

/*
 * Gives up the exchange for this reason: the peer is told of it, if it can be, and
 * CONNECTION_FINISHED follows, unless the exchange is complete. Only the first call counts. Main.
 */
void connection_cancel(struct connection *connection, const struct failure *reason);

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

/*
 * Takes the notes from the connection's slip. True if it may be destroyed: the CQ thread has let go
 * of it, and its files are closed, however long that takes. Main.
 */
bool connection_drained(struct connection *connection, unsigned int events);

/*
 * How the exchange ended: a failure, or none set if it is complete and verified. Valid from
 * CONNECTION_DRAINED until connection_destroy(). Main.
 */
const struct failure *connection_outcome(const struct connection *connection);

/* True if our input was asked for: what of it came once, like standard input, is used. Main, as above. */
bool connection_used_input(const struct connection *connection);

/* Bytes that went and came so far, and that will in all, or STREAM_SIZE_UNKNOWN. Any thread. */
void connection_progress(struct connection *connection, uint64_t *bytes, uint64_t *total);

/*
 * When data last moved, 0 if none has; this moment while the connection waits for a file of ours, so
 * that the peer cannot be blamed. deadline_now(). Any thread.
 */
deadline_t connection_moved(struct connection *connection);

/*
 * Says how the exchange went that is over: a line for each stream of more than a message, and with
 * json a document on standard output. error is the failure's sentence, or NULL. Valid as the
 * outcome. Main.
 */
void connection_report(
	struct connection *connection, enum exit_status status, const char *error, bool json);

/* Frees all, the rdma_cm_id too. Only when drained, or before it was connected. Main. */
void connection_destroy(struct connection *connection);

/* The peer as "address:port". Any thread. */
const char *connection_peer(const struct connection *connection);

/* What the main thread keeps with the connection. Main. */
void connection_set_owner(struct connection *connection, void *owner);
void *connection_owner(const struct connection *connection);

/* Records that we and the server do not hold the same secret. Returns -1. Any thread. */
int secret_refused(struct failure *failure);

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
