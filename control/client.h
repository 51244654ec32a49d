/*
 * The client side of a control connection (control/control.h), for diagnoses and measurements: it
 * proves that it knows the secret, sends commands (protocol/command.h) and waits for the replies.
 * All functions that return int return 0, or -1 with the failure recorded in the connection. Only
 * the thread that owns the connection may call them.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "control/control.h"
#include "host/counters.h"
#include "protocol/hello.h"
#include "verbs/cm.h"

/* The client's request to the server, and the parameters of the connection. */
struct control_request {
	enum hello_kind kind;
	uint32_t timeout;            /* our idle timeout in milliseconds, sent in the hello */
	uint32_t queue_pairs, depth; /* endpoint capacity; a measurement also sends it */
	bool bandwidth;              /* a measurement of bandwidth only */
	bool worker;                 /* another connection reports the measurement's results */
	bool receives;               /* the measured operations use up receives */
	uint32_t inline_max;         /* bytes of inline data; 0: the default */
	uint32_t gathers;            /* pieces of an operation's local memory; 0: one */
	bool shares;                 /* the operations' queue pairs share their receives */
	enum ordering ordering;      /* of a bandwidth test's data; all other data is ordered */
	uint8_t reads;               /* RDMA READs in flight, in either direction */
	const struct secret *secret; /* owned by the caller; NULL: none */
	int stop_fd;                 /* when readable, interrupts every wait; -1: none */
};

/*
 * Callbacks of a dial whose user is a control connection (verbs/dial.h). The caller sets the
 * connection's `request` first and keeps it valid for the lifetime of the connection.
 * control_client_prepare() creates the queue pair and the memory for the id and sets *parameters
 * for rdma_connect(3). From then on the connection owns the id and its event channel, which must
 * not carry events of any other id. After a failed call, control_close() frees all resources.
 */
int control_client_prepare(void *user, struct cm_channel *channel, struct rdma_cm_id *id,
	struct rdma_conn_param *parameters, struct failure *failure);
void control_client_discard(void *user, const struct failure *reason);

/* Checks the accepting server's reply and, with a secret, authenticates both ends. */
int control_client_admission(
	struct control *control, const struct event_copy *reply, deadline_t deadline);

/*
 * Sends a command and waits for a reply that reports success. The reply's text is valid until the
 * next call.
 */
int control_client_command(struct control *control, struct command *command, struct command *reply,
	deadline_t deadline);

/* Exchanges the memory regions of both ends: COMMAND_REGION. */
int control_client_region(struct control *control, deadline_t deadline);

/* Requests the server's facts: COMMAND_FACTS. */
int control_client_facts(struct control *control, struct facts *facts, deadline_t deadline);

/* Requests the counters of the server's port: COMMAND_COUNTERS. */
int control_client_counters(
	struct control *control, struct counters *counters, deadline_t deadline);

#endif
