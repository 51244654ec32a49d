/*
 * One exchange with one peer: its queue pair, its registered memory and the state of its messages
 * and streams, as the main thread sees it.
 *
 * Two threads meet in a connection. The main thread takes rdmacm events: it creates a connection,
 * posts its receives, connects or accepts, and from then on only asks. The CQ thread of the device
 * (rdma-common.h) runs the exchange. They talk through wakeup queues and share nothing else:
 *
 *   main                                      CQ thread
 *   connection_create(): receives posted
 *                              ------------>  knows it, before any completion can come
 *   rdma_connect() / connection_accept()
 *   connection_established()   ------------>  exchange runs: posts, polls, moves data, prints
 *                              <------------  CONNECTION_FINISHED: done, or failed
 *   connection_close()         ------------>  drains the queue pair,
 *                              <------------  decides the outcome: CONNECTION_DRAINED
 *   connection_destroy()
 *
 * So main posts to the queue pair before connect or accept, and the CQ thread after; and nothing is
 * freed before the CQ thread has released the connection. A wakeup in the main thread's queue is
 * about a connection: wakeup->about.
 */
#ifndef EXCHANGE_CONNECTION_H
#define EXCHANGE_CONNECTION_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/deadline.h"
#include "base/failure.h"
#include "exchange/settings.h"
#include "protocol/mode.h"
#include "verbs/device.h"

struct connection;

/*
 * Makes everything that an exchange in this mode with the peer of id needs, and posts its receives.
 * request is NULL on the active side, which learns in connection_established() who the peer is and
 * makes the rest then. settings and device outlive the connection, which owns id from success on.
 * Returns 0, or -1 with the failure recorded and nothing kept. Main thread. rdma_create_qp(3),
 * ibv_reg_mr(3).
 */
int connection_create(const struct exchange_settings *settings, const struct mode *mode,
	struct rdma_cm_id *id, struct device *device, const struct request *request,
	struct connection **connection, struct failure *failure);

/*
 * The parameters of rdma_connect(3) or rdma_accept(3), with our hello unless the peer is a tutorial
 * program. They refer to memory of the connection. Main.
 */
struct rdma_conn_param connection_parameters(const struct connection *connection);

/* Accepts the request. Returns 0 or -errno. Main. rdma_accept(3). */
int connection_accept(struct connection *connection);

/*
 * Hands the connection to the CQ thread when rdmacm reports it established with these parameters.
 * From then on that thread enforces the idle timeout. Returns 0, or -1 with the failure recorded if
 * the peer's hello does not match ours, or there is no memory for its data. Main.
 */
int connection_established(struct connection *connection, const struct rdma_conn_param *reply,
	struct failure *failure);

/*
 * Aborts the exchange for this reason: the peer is told, if possible, and CONNECTION_FINISHED
 * follows, unless the exchange is complete. Only the first call counts. Main.
 */
void connection_cancel(struct connection *connection, const struct failure *reason);

/*
 * Disconnects and asks the CQ thread to drain the queue pair; CONNECTION_DRAINED follows. The
 * reason, which may be NULL, becomes the outcome unless the exchange is complete or the CQ thread
 * recorded a failure that the reason does not explain. Later calls do nothing. Main.
 * rdma_disconnect(3).
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
 * Takes the events of the connection's wakeup. True if it may be destroyed: the CQ thread has
 * released it, and its files are closed, however long that takes. Main.
 */
bool connection_drained(struct connection *connection, unsigned int events);

/*
 * How the exchange ended: a failure, or none set if it is complete and verified. Valid from
 * CONNECTION_DRAINED until connection_destroy(). Main.
 */
const struct failure *connection_outcome(const struct connection *connection);

/* True if data was read from our input: standard input is then used up. Main, as above. */
bool connection_used_input(const struct connection *connection);

/* Bytes moved both ways so far, and in all, or STREAM_SIZE_UNKNOWN. Any thread. */
void connection_progress(struct connection *connection, uint64_t *bytes, uint64_t *total);

/*
 * When data last moved, 0 if none has; now while the connection waits for a file of ours, for which
 * the peer is not to blame. deadline_now(). Any thread.
 */
deadline_t connection_last_progress(struct connection *connection);

/*
 * Prints how the exchange ended: a line for each stream of more than a message, and with json a
 * document on standard output. error is the failure's sentence, or NULL. Valid as the outcome.
 * Main.
 */
void connection_report(
	struct connection *connection, enum exit_status status, const char *error, bool json);

/*
 * Frees everything, the rdma_cm_id too: once connection_drained() says so, or before it was
 * connected. free_client() in serve/service.c and free_connection() in rdma-client.c call it. Main.
 */
void connection_destroy(struct connection *connection);

/* The peer as "address:port". Any thread. */
const char *connection_peer(const struct connection *connection);

/* What the main thread keeps with the connection. Main. */
void connection_set_owner(struct connection *connection, void *owner);
void *connection_owner(const struct connection *connection);

#endif
