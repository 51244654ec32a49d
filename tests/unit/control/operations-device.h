/*
 * A made-up device for the operations that a diagnosis tries (control/operations.h). Both ends are
 * in one process, and the client's commands are executed at once: work requests complete when they
 * are posted, and time passes only while an end waits. As strict as hardware: the device checks
 * states, numbers, keys, rights and capabilities.
 */
#ifndef TESTS_UNIT_CONTROL_OPERATIONS_DEVICE_H
#define TESTS_UNIT_CONTROL_OPERATIONS_DEVICE_H

#include "control/operations.h"
#include "tests/unit/common/personality.h"
#include "tests/unit/unit.h"

/* What goes wrong with one operation. */
enum operations_fault {
	NO_FAULT,
	POST_FAILS,       /* ibv_post_send() fails at the client */
	COMPLETION_FAILS, /* a request completes with IBV_WC_REM_OP_ERR */
	NEVER_COMPLETES,
	LOSES,    /* the request completes, and has no effect */
	DAMAGES,  /* a bit of its data is flipped */
	SHORTENS, /* a byte less arrives */
	CHANGES_IMMEDIATE,
	RETURNS_OTHER, /* an atomic operation returns another value */
	LEAVES_OTHER,  /* an atomic operation leaves another value */
	HAS_NO_HEADER,
	STAYS_OPEN,    /* a window is not invalidated */
	RECEIVE_FAILS, /* ibv_post_recv() fails at the server */
	CANNOT_BIND,
};

/* The calls that can fail, once each. */
enum operations_call {
	NO_CALL,
	ALLOC_PD,
	CREATE_CQ,
	REG_MR,
	CREATE_SRQ,
	CREATE_QP,
	MODIFY_QP,
	CREATE_AH,
	ALLOC_MW,
};

/* What goes wrong with the connections over iWARP. */
enum operations_link_fault {
	LINKS_WORK,
	CANNOT_LISTEN,
	NO_ROUTE,
	CANNOT_CONNECT,
	REQUEST_LOST,
	STRANGERS, /* one with each wrong number comes first */
	CANNOT_ACCEPT,
	REPLY_LOST,
	LINK_REJECTED,
};

extern struct operations_device {
	const struct personality *personality;
	enum operations_fault fault;
	enum operation faulty;
	enum operations_call failing; /* fails from now on */
	enum operations_link_fault link_fault;
	unsigned int rejected; /* requests */
	bool infiniband;       /* the link layer of the port */
	bool no_inline;        /* refuses inline data */
	bool gone;             /* the control connection has ended */
	int resources;         /* not yet freed */
	int64_t nanoseconds;   /* that have passed */
	unsigned int commands, rounds;
	uint32_t wrong_numbers; /* added to the queue pair numbers that the server receives */
	bool malformed;         /* the server's replies are too short */
	struct operation_end server;
} operations_device;

/* Starts with this personality, without faults. */
void operations_device_start(const struct personality *personality);

/* Injects the fault into one operation. */
void operations_device_fault(enum operation operation, enum operations_fault fault);

/* Tries all operations, and checks that nothing is left. Returns what operations_try() does. */
int operations_device_try(struct operation_result results[OPERATIONS]);

/* A control connection of this end, for one personality. */
struct control *operations_device_control(bool passive);

/* Sends a datagram from a queue pair that the server does not know, to all of its type. */
void operations_device_intrude(void);

#endif
