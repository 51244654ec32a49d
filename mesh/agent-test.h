/*
 * One test of an agent: `rdma-client latency` or `bandwidth` to the server of another agent, as a
 * child process, and what its document says. Main thread.
 */
#ifndef MESH_AGENT_TEST_H
#define MESH_AGENT_TEST_H

#include "cli/options.h"
#include "host/device-list.h"
#include "mesh/child.h"

struct json_object;

/* Limits of what a coordinator may ask for. */
#define AGENT_TEST_MS_MAX 3600000

/* Addresses of a server, as in its ready line. */
#define AGENT_ADDRESSES_SIZE 2048

struct agent_test {
	uint64_t number; /* of the coordinator */
	bool latency;
	uint64_t port, size, milliseconds, timeout_ms;
	char addresses[AGENT_ADDRESSES_SIZE];
	char device[DEVICE_NAME_SIZE];   /* of this host; "": any, or that of --device */
	char address[OPTIONS_HOST_SIZE]; /* of them, the one that this host reaches */
	deadline_t deadline;
};

/* Reads the coordinator's request. Returns false if it is invalid. */
bool agent_test_read(struct agent_test *test, struct json_object *request);

/* Starts it. secret: the file with the secret of the measurements. Returns 0, or -errno. */
int agent_test_start(struct agent_test *test, int secret, struct child *child);

/*
 * Returns the message with the result of a child that has ended, or of one that could not be
 * started: child == NULL, with this -errno.
 */
struct json_object *agent_test_result(
	const struct agent_test *test, const struct child *child, int error);

#endif
