/*
 * The client's half of a connection on which orders go (protocol/command.h): it connects, proves that it holds
 * the secret, and gives orders. A diagnosis and a measurement do. Main thread.
 */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "control/control.h"
#include "host/counters.h"
#include "protocol/hello.h"
#include "verbs/cm.h"

struct control_client {
	struct control control;
	bool open;         /* there is a probe: control_client_close() it */
	uint32_t commands; /* that were given */
};

/* What is asked for, and what for. */
struct control_request {
	enum hello_kind kind;
	uint32_t timeout; /* milliseconds that we bear of silence, for the server to know */
	uint32_t queue_pairs, depth; /* there is to be room for */
	uint8_t reads;               /* READs at a time, in either direction */
};

/*
 * Makes queue pair and memory on that id, and sets *parameters to what rdma_connect() needs. The id and
 * its channel, which has no events of another one, belong to the client from now on; the secret, which
 * may be NULL, stays the caller's. stop_fd ends every wait when it is readable; -1: none. Returns 0,
 * or -1 with the probe's failure recorded, like all functions here. control_client_close() also frees
 * what a failed call has left. See verbs/dial.h.
 */
int control_client_prepare(struct control_client *client, const struct control_request *request,
	const struct secret *secret, int stop_fd, struct rdma_event_channel *channel,
	struct rdma_cm_id *id, struct rdma_conn_param *parameters);

/* Checks the reply of the server that has accepted, and with a secret proves ours and checks its. */
int control_client_admission(struct control_client *client, const struct control_request *request,
	const struct event_copy *reply, deadline_t deadline);

/* Gives an order and waits for its answer, which says that it was carried out. */
int control_client_command(struct control_client *client, struct command *command,
	struct command *reply, deadline_t deadline);

/* Tells the server of our memory, and hears of its own. */
int control_client_region(struct control_client *client, deadline_t deadline);

/* Asks what the server is. */
int control_client_facts(struct control_client *client, struct facts *facts, deadline_t deadline);

/* The counters of our port, none if they are not known, and of the server's. */
void control_client_count_here(const struct control_client *client, struct counters *counters);
int control_client_count_there(
	struct control_client *client, struct counters *counters, deadline_t deadline);

void control_client_close(struct control_client *client);

#endif
