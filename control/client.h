/*
 * The client's half of a control connection (control/control.h), for diagnoses and measurements: it
 * proves that it holds the secret, gives commands (protocol/command.h) and waits for the replies.
 * All functions that return int return 0, or -1 with the connection's failure recorded. The thread
 * that owns the connection calls them.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "control/control.h"
#include "host/counters.h"
#include "protocol/hello.h"
#include "verbs/cm.h"

/* What the client asks the server for, and with what. */
struct control_request {
	enum hello_kind kind;
	uint32_t timeout;            /* milliseconds that the server may be silent */
	uint32_t queue_pairs, depth; /* of a measurement: its shape */
	uint8_t reads;               /* READs at a time, in either direction */
	const struct secret *secret; /* the caller's; NULL: none */
	int stop_fd;                 /* ends every wait when it is readable; -1: none */
};

/*
 * For a dial whose user is a control connection (verbs/dial.h). The caller has set the connection's
 * `request` and keeps it as long as the connection. The first makes queue pair and memory on that
 * id, and sets *parameters to what rdma_connect() needs. The id and its channel, which has no
 * events of another one, belong to the client from now on. control_close() also frees what a failed
 * call has left.
 */
int control_client_prepare(void *user, struct rdma_event_channel *channel, struct rdma_cm_id *id,
	struct rdma_conn_param *parameters, struct failure *failure);
void control_client_discard(void *user, const struct failure *reason);

/*
 * Checks the reply of the server that has accepted, and with a secret proves ours and checks its.
 */
int control_client_admission(
	struct control *control, const struct event_copy *reply, deadline_t deadline);

/*
 * Gives a command and waits for the reply that it was carried out. The reply's text is valid until
 * the next call.
 */
int control_client_command(struct control *control, struct command *command, struct command *reply,
	deadline_t deadline);

/* Exchanges the regions of both ends: COMMAND_REGION. */
int control_client_region(struct control *control, deadline_t deadline);

/* Gets the facts about the server: COMMAND_FACTS. */
int control_client_facts(struct control *control, struct facts *facts, deadline_t deadline);

/* Gets the counters of the server's port: COMMAND_COUNTERS. */
int control_client_counters(
	struct control *control, struct counters *counters, deadline_t deadline);

#endif
