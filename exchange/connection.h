/*
 * One exchange with one peer, as the main thread sees it: the queue pair, the registered memory and
 * the state of the messages and streams.
 *
 * Two threads share a connection. The main thread handles rdmacm events: it creates the connection,
 * posts its receives, and connects or accepts; from then on it only sends requests. The CQ thread
 * of the device (rdma-common.h) runs the exchange. The threads communicate through wakeup queues
 * and share nothing else:
 *
 *   main                                      CQ thread
 *   connection_create(): receives posted
 *                              ------------>  adopts it before any completion can arrive
 *   rdma_connect() / connection_accept()
 *   connection_established()   ------------>  exchange runs: posts, polls, moves data, prints
 *                              <------------  CONNECTION_FINISHED: completed or failed
 *   connection_close()         ------------>  drains the queue pair,
 *                              <------------  decides the outcome: CONNECTION_DRAINED
 *   connection_destroy()
 *
 * Therefore the main thread posts to the queue pair only before connect or accept, and the CQ
 * thread only afterwards; nothing is freed before the CQ thread has released the connection. In the
 * main thread's queue, wakeup->about is the connection.
 */
#ifndef EXCHANGE_CONNECTION_H
#define EXCHANGE_CONNECTION_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/deadline.h"
#include "base/failure.h"
#include "base/progress.h"
#include "exchange/settings.h"
#include "protocol/mode.h"
#include "verbs/device.h"

struct connection;

/*
 * Creates the resources for an exchange in this mode on id, and posts the receives. request is NULL
 * on the active side, which creates the remaining resources in connection_established(), once it
 * knows the peer. If request->source is NULL, opens the input, which may wait for its file system.
 * settings and device must outlive the connection, which owns id and request->source after success.
 * Returns 0, or -1 with the failure recorded and everything else freed. Main thread.
 * rdma_create_qp(3), ibv_reg_mr(3).
 */
int connection_create(const struct exchange_settings *settings, const struct mode *mode,
	struct rdma_cm_id *id, struct device *device, const struct request *request,
	struct connection **connection, struct failure *failure);

/*
 * Returns the parameters for rdma_connect(3) or rdma_accept(3), with our hello unless the peer is a
 * tutorial program. They point to memory owned by the connection. Main thread.
 */
struct rdma_conn_param connection_parameters(const struct connection *connection);

/*
 * Accepts the connection request. Returns 0, or -1 with the failure recorded. Main thread.
 * rdma_accept(3).
 */
int connection_accept(struct connection *connection, struct failure *failure);

/*
 * Hands the connection to the CQ thread when rdmacm reports it established with these parameters.
 * From then on the CQ thread enforces the idle timeout. Returns 0, or -1 with the failure recorded
 * if the peer's hello does not match ours or memory for its data cannot be allocated. Main thread.
 */
int connection_established(struct connection *connection, const struct rdma_conn_param *reply,
	struct failure *failure);

/*
 * Aborts the exchange for this reason: the peer is notified if possible, and CONNECTION_FINISHED
 * follows, unless the exchange is complete. Only the first call has an effect. Main thread.
 */
void connection_cancel(struct connection *connection, const struct failure *reason);

/*
 * Disconnects and has the CQ thread drain the queue pair; CONNECTION_DRAINED follows. The reason,
 * which may be NULL, becomes the outcome unless the exchange is complete or the CQ thread recorded
 * a failure that the reason does not explain. Later calls have no effect. Main thread.
 * rdma_disconnect(3).
 */
void connection_close(struct connection *connection, const struct failure *reason);

/*
 * Like connection_close(), after rdmacm reported that the peer disconnected or confirmed our
 * disconnect. Main thread.
 */
void connection_disconnected(struct connection *connection);

/*
 * Like connection_close(), but does not wait for outstanding work requests, because the device was
 * removed or the drain took too long: CONNECTION_DRAINED follows immediately. Main thread.
 */
void connection_abandon(struct connection *connection, const struct failure *reason);

/*
 * Handles the events of the connection's wakeup. Returns true if the connection may be destroyed:
 * the CQ thread has released it and its worker threads have ended, however long that takes. Main
 * thread.
 */
bool connection_drained(struct connection *connection, unsigned int events);

/*
 * The outcome of the exchange: a failure, which is not set if the exchange is complete and
 * verified. Valid from CONNECTION_DRAINED until connection_destroy(). Main thread.
 */
const struct failure *connection_outcome(const struct connection *connection);

/*
 * True if data was read from our input, so that standard input cannot be sent again. Valid like
 * connection_outcome(). Main thread.
 */
bool connection_used_input(const struct connection *connection);

/*
 * Returns the progress of both directions. A message counts only if neither side sends more. Any
 * thread.
 */
struct progress_state connection_progress(struct connection *connection);

/*
 * Returns true once, when it is known that the transfer resumes, and stores its progress, which
 * names the peer if `names` is true. Main thread.
 */
bool connection_take_resumed(
	struct connection *connection, bool names, struct progress_state *progress);

/*
 * Returns the time (deadline_now()) at which data last moved, or 0 if none has. While the
 * connection waits for a local file, which is not the peer's fault, returns the current time. Any
 * thread.
 */
deadline_t connection_last_progress(struct connection *connection);

/*
 * Names the entries of a sent directory that were left out, which is the evidence for the outcome.
 * Valid like connection_outcome(). Main thread.
 */
void connection_report_omitted(struct connection *connection);

/*
 * Prints the result: a summary line for each stream longer than a message and, with json, a JSON
 * document on standard output. outcome is the failure, or not set, and message explains it, or is
 * NULL. Valid like connection_outcome(). Main thread.
 */
void connection_report(struct connection *connection, const struct failure *outcome,
	const char *message, bool json);

/*
 * Frees everything, including the rdma_cm_id, once connection_drained() returns true or before
 * connecting. Called by free_client() in serve/service.c and free_connection() in rdma-client.c.
 * Main thread.
 */
void connection_destroy(struct connection *connection);

/* Returns the peer as "address:port". Any thread. */
const char *connection_peer(const struct connection *connection);

/* Sets and returns a pointer that the main thread associates with the connection. Main thread. */
void connection_set_owner(struct connection *connection, void *owner);
void *connection_owner(const struct connection *connection);

#endif
