/*
 * The centre of a mesh: it accepts agents that prove the token, and has them run tests, so that no
 * host takes part in two at a time. It never waits for one peer: one loop serves all of them, the
 * launcher and the signals. Every peer has limits of time and memory, before and after its proof.
 * Main thread.
 */
#ifndef MESH_COORDINATOR_H
#define MESH_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/output.h"
#include "cli/options.h"
#include "mesh/agent-test.h"
#include "mesh/host-list.h"
#include "mesh/launcher.h"
#include "mesh/token.h"
#include "mesh/wire.h"

enum mesh_host_state {
	MESH_HOST_ABSENT,   /* no agent has connected */
	MESH_HOST_STARTING, /* its agent is connected */
	MESH_HOST_READY,    /* its server listens */
	MESH_HOST_UNUSABLE, /* it has no usable RDMA device */
	MESH_HOST_LOST,     /* its agent was there */
};

/* Facts of a host or of a device, as its agent reports them; "" or 0: unknown. */
#define MESH_FACT_SIZE 96

struct mesh_facts {
	char device[MESH_FACT_SIZE], driver[MESH_FACT_SIZE], firmware[MESH_FACT_SIZE];
	char rate[MESH_FACT_SIZE], link_layer[MESH_FACT_SIZE], gid_type[MESH_FACT_SIZE];
	char version[MESH_FACT_SIZE], kernel[MESH_FACT_SIZE];
	uint64_t interface_mtu;
};

/* An RDMA device of a host. */
struct mesh_device {
	struct mesh_facts facts;        /* with its name */
	char problem[MESH_REASON_SIZE]; /* why it cannot be used; "": it can */
	char *addresses;                /* of the server, through this device; NULL: none */
};

struct mesh_host {
	enum mesh_host_state state;
	char reason[MESH_REASON_SIZE];  /* why it is not ready */
	char warning[MESH_REASON_SIZE]; /* of its addresses; "": none */
	struct mesh_facts facts;
	struct mesh_device *devices; /* room for MESH_DEVICES_MAX, once there is one */
	unsigned int device_count;
	uint16_t port; /* of its server */
	char addresses[AGENT_ADDRESSES_SIZE];
	struct mesh_peer *peer; /* NULL: none */
	uint32_t busy;          /* which devices are in tests: bits, as in struct mesh_rail */
};

/* The ends of a test: the host that sends, and the one that receives. */
enum mesh_end { MESH_FROM, MESH_TO };

#define MESH_RAIL_SIZE (2 * MESH_FACT_SIZE)

/*
 * A rail: the device of each host that sends, and the one that receives, usually the same. All
 * pairs of a rail are a mesh of their own.
 */
struct mesh_rail {
	char name[MESH_RAIL_SIZE];      /* "mlx5_0", "mlx5_0->mlx5_1"; "": any device */
	char device[2][MESH_FACT_SIZE]; /* of each end; "": any */
	unsigned int number[2];         /* of the devices, below MESH_DEVICES_MAX */
};

/* A test of one direction. */
struct mesh_test {
	unsigned int from, to;
	bool latency;
	unsigned int rail;
};

struct mesh_outcome {
	bool measured; /* it says something about RDMA: otherwise an agent was lost */
	bool good;
	int64_t start_ms, end_ms;                         /* since the start of the coordinator */
	uint64_t bytes_per_second, link_bytes_per_second; /* 0: none, unknown */
	uint64_t median_ns, p99_ns;
	char message[MESH_REASON_SIZE]; /* why it is not good */
};

/* Of the caller. They run on the main thread, within coordinator_gather() and coordinator_run(). */
struct mesh_listener {
	void (*finished)(
		void *user, const struct mesh_test *test, const struct mesh_outcome *outcome);
	void (*tick)(void *user); /* several times per second */
	void *user;
};

struct coordinator {
	const struct options *options;
	const struct output *output;
	const struct host_list *list;
	struct mesh_listener listener;
	struct secret *token;
	struct launcher launcher;
	struct mesh_host *hosts; /* as many as the list has */
	struct mesh_peer *peers;
	unsigned int peer_count;
	struct pollfd *polled;
	size_t polled_size;
	int listening, signals, signal;
	uint16_t port;
	char (*addresses)[64];
	unsigned int address_count;
	deadline_t start, ping;
	uint64_t next_number;
	const struct mesh_rail *rails;
	unsigned int rail_count;
	struct mesh_running *running; /* tests, by the host that sends and the rail */
	unsigned int running_count;
	unsigned int strangers; /* peers without the token, so far */
};

/*
 * Listens. The caller has set options, output, list, listener and token, and zeroed the rest; the
 * coordinator owns the token from now on. Returns 0, or -1 with the reason in why;
 * coordinator_close() follows in either case.
 */
int coordinator_open(struct coordinator *coordinator, char why[MESH_REASON_SIZE]);

/* Starts the agents with the token, whose text this is. Returns 0, or -1 with the reason in why. */
int coordinator_launch(
	struct coordinator *coordinator, const char *token, char why[MESH_REASON_SIZE]);

/* Waits until all hosts are ready or cannot be, or for --start-timeout. */
void coordinator_gather(struct coordinator *coordinator);

/*
 * Sets the rails, which stay the caller's, until coordinator_close(); no test may run. At first,
 * there is one, of any device. Returns 0 or -ENOMEM.
 */
int coordinator_set_rails(
	struct coordinator *coordinator, const struct mesh_rail *rails, unsigned int count);

/* Returns the named device of a host; NULL: it has none of this name. */
const struct mesh_device *coordinator_device(
	const struct coordinator *coordinator, unsigned int host, const char *name);

/*
 * Returns a host's device of an end of a rail; if that is any device, the first that can be used,
 * or else the first one; NULL: none.
 */
const struct mesh_device *coordinator_rail_device(const struct coordinator *coordinator,
	unsigned int host, const struct mesh_rail *rail, enum mesh_end end);

/* True if both ends of a rail have the same device. */
bool mesh_rail_is_plain(const struct mesh_rail *rail);

/* Why a host, or its device of this end of a rail, cannot be tested; NULL: it can. */
const char *coordinator_reason(const struct coordinator *coordinator, unsigned int host,
	const struct mesh_rail *rail, enum mesh_end end);

/* True if it can be tested. */
bool coordinator_is_ready(const struct coordinator *coordinator, unsigned int host,
	const struct mesh_rail *rail, enum mesh_end end);

/*
 * Runs the tests, in this order where hosts are free, or with --together their devices, at most
 * `most` at a time (0: any number). Each is reported to the listener, also if a signal ends the
 * run.
 */
void coordinator_run(struct coordinator *coordinator, const struct mesh_test *tests,
	unsigned int count, unsigned int most);

/* Ends the agents and the launcher, and frees everything. */
void coordinator_close(struct coordinator *coordinator);

/* Milliseconds since the start. */
int64_t coordinator_now(const struct coordinator *coordinator);

#endif
