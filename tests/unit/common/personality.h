/*
 * Personalities: what the programs must cope with on adapters that no test machine has, as read
 * from the sources of rdma-core and of Linux. The fake devices of the unit tests
 * (tests/unit/verbs/fake-*.c, tests/unit/measure/perf-test-device.c) and the tests of listeners and
 * counters take on one of them. The scenarios run on each: test-personalities.c in exchange,
 * measure and serve, which `make check` prints as a table.
 *
 * To add a personality, add a row. To add a behaviour, add a member here and have the fake devices
 * imitate it; name the source file and the function that it follows.
 */
#ifndef TESTS_UNIT_COMMON_PERSONALITY_H
#define TESTS_UNIT_COMMON_PERSONALITY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

struct personality {
	const char *name;
	enum ibv_transport_type transport;
	uint32_t vendor;
	int reads_answered, reads_asked; /* max_qp_rd_atom, max_qp_init_rd_atom */

	/* Raises the event of an armed completion queue that was destroyed. */
	bool late_events;
	/* Flushed work requests complete only inside ibv_poll_cq(), and raise no event. */
	bool flushes_in_poll;
	/*
	 * ibv_query_qp() returns neither the address vector nor the timeouts, and the partition
	 * key itself as its index.
	 */
	bool queries_in_part;
	/* Modifying a live queue pair to RTS or ERR resets its connection. */
	bool modify_resets;
	/* Completes later WRITEs and SENDs before earlier READs. */
	bool overtakes;
	/* The server reads the client's first message when more data arrives. */
	bool wakes_late;
	/* A listener on a wildcard accepts clients of its own address family only. */
	bool one_family;

	/* For the operations that a diagnosis tries: control/operation-table.c. */
	unsigned int capabilities; /* enum ibv_device_cap_flags */
	int pieces;                /* max_sge */
	bool shared_receives;      /* max_srq is not 0 */
	bool unreliable;           /* has queue pairs of type UC */
	bool no_datagrams;         /* has none of type UD */
	bool no_atomics;           /* atomic_cap is IBV_ATOMIC_NONE */
	bool no_windows;           /* libibverbs' driver has no calls for memory windows */
	bool infiniband;           /* the link layer of its ports */
	const char *lacks;         /* these operations, as the check must find it */

	/* Increases of the counters of a port as lines "name value". Empty: there are none. */
	const char *healthy;           /* of each end, while no packet is lost */
	const char *receiver, *sender; /* of the two ends of a direction that loses packets */
};

/* Returns the personality at this index, NULL past the last. */
const struct personality *personality_at(size_t index);

/* Returns the first personality with this transport. */
const struct personality *personality_over(enum ibv_transport_type transport);

struct scenario {
	const char *name;
	void (*run)(const struct personality *personality);
};

/*
 * Runs each scenario on each personality, in a process of its own, as a test named "PERSONALITY:
 * SCENARIO". Returns the number of failed tests.
 */
int personality_run(const char *group, const struct scenario *scenarios, size_t count);

#endif
