/*
 * The operations that a diagnosis tries once between two hosts, as they go over the wire: what each
 * end has prepared, and how each operation went. See docs/protocol.md, "Operations". Any thread.
 *
 * An operation that a device need not have is no failure where it lacks it: enum operation_lack
 * names what says so.
 *
 * A new operation needs a constant here, its name in protocol/operations.c, a row in
 * control/operation-table.c, and rows in docs/protocol.md and docs/hardware.md.
 */
#ifndef PROTOCOL_OPERATIONS_H
#define PROTOCOL_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits on the wire, counted from 0. */
enum operation {
	OPERATION_SEND,
	OPERATION_SEND_IMMEDIATE,
	OPERATION_WRITE_IMMEDIATE,
	OPERATION_EMPTY_WRITE, /* of 0 bytes */
	OPERATION_EMPTY_READ,
	OPERATION_EMPTY_SEND,
	OPERATION_GATHER, /* a SEND of several pieces of memory into several others */
	OPERATION_INLINE,
	OPERATION_FENCE, /* a SEND of what a READ before it fetches */
	OPERATION_FETCH_ADD,
	OPERATION_COMPARE_SWAP,
	OPERATION_SHARED_RECEIVE, /* into a shared receive queue */
	OPERATION_WINDOW,         /* a memory window: bind, WRITE, invalidate */
	OPERATION_UNRELIABLE,     /* over an unreliable connection (UC) */
	OPERATION_DATAGRAM,       /* UD, with an address handle and a GRH */
	OPERATION_PATH,           /* an alternate path (APM) */
	OPERATIONS
};

/* All operations as bits. */
#define OPERATIONS_ALL ((UINT32_C(1) << OPERATIONS) - 1)

/* The name of an operation, in documents and on the screen. Constant. */
const char *operation_name(enum operation operation);

/*
 * The queue pairs that the operations use. One that is expected to break, or that needs attributes
 * of its own, has its own.
 */
enum operation_queue {
	OPERATION_QUEUE_CONNECTED,
	OPERATION_QUEUE_SHARED,
	OPERATION_QUEUE_WINDOW,
	OPERATION_QUEUE_UNRELIABLE,
	OPERATION_QUEUE_DATAGRAM,
	OPERATION_QUEUE_PATH,
	OPERATION_QUEUES
};

enum operation_state {
	OPERATION_SKIPPED = 0, /* not tried */
	OPERATION_OK = 1,      /* done; in the server's first answer: prepared */
	OPERATION_UNSUPPORTED = 2,
	OPERATION_FAILED = 3,
	OPERATION_STATES
};

/* What an end lacks. Values on the wire. */
enum operation_lack {
	LACK_NOTHING = 0,
	LACK_IMMEDIATE = 1,   /* iWARP has no immediate data */
	LACK_PIECES = 2,      /* max_sge */
	LACK_INLINE = 3,      /* max_inline_data of the queue pair */
	LACK_ATOMICS = 4,     /* atomic_cap */
	LACK_SHARED = 5,      /* max_srq */
	LACK_WINDOWS = 6,     /* IBV_DEVICE_MEM_WINDOW and its types */
	LACK_UNRELIABLE = 7,  /* no queue pairs of type UC */
	LACK_DATAGRAMS = 8,   /* no queue pairs of type UD */
	LACK_IWARP = 9,       /* iWARP has only connected queue pairs */
	LACK_MIGRATION = 10,  /* IBV_DEVICE_AUTO_PATH_MIG */
	LACK_INFINIBAND = 11, /* the kernel has alternate paths on InfiniBand only */
	LACK_CALL = 12,       /* the call that it needs is not implemented */
	OPERATION_LACKS
};

/* Why an operation failed. Values on the wire. */
enum operation_fault {
	FAULT_NONE = 0,
	FAULT_CALL = 1,       /* a call failed; detail: errno */
	FAULT_COMPLETION = 2, /* detail: enum ibv_wc_status */
	FAULT_LATE = 3,       /* it did not complete in time */
	FAULT_MISSING = 4,    /* nothing arrived */
	FAULT_LENGTH = 5,     /* another number of bytes arrived */
	FAULT_DATA = 6,       /* other bytes arrived */
	FAULT_IMMEDIATE = 7,  /* other immediate data, or none, arrived */
	FAULT_VALUE = 8,      /* an atomic operation left, or returned, another value */
	FAULT_HEADER = 9,     /* a datagram arrived without its global route header */
	FAULT_OPEN = 10,      /* an invalidated memory window still accepted a WRITE */
	FAULT_CONNECT = 11,   /* iWARP: its own connection was not made */
	OPERATION_FAULTS
};

struct operation_result {
	enum operation_state state;
	uint8_t code;    /* enum operation_lack or enum operation_fault, by the state */
	uint16_t detail; /* of a fault */
	bool there;      /* at the other end; not on the wire */
};

/* Puts the reason of a result into words, "" if it needs none. */
#define OPERATION_REASON 128
void operation_reason(const struct operation_result *result, char text[OPERATION_REASON]);

/* Queue pairs, and the memory of the end that offers it: the server. */
struct operations_offer {
	uint32_t wanted; /* operations as bits, of the client */
	struct {
		/*
		 * Of its queue pair: 24 bits each; number 0: none. Over iWARP the server's port,
		 * and the number that a request for this queue pair contains.
		 */
		uint32_t number, sequence;
	} queues[OPERATION_QUEUES];
	uint64_t address;                             /* of the server's memory */
	uint32_t length, rkey;                        /* of the server's memory */
	uint32_t window;                              /* rkey of the server's memory window */
	uint32_t window_type;                         /* 1 or 2; 0: none */
	struct operation_result prepared[OPERATIONS]; /* of the server */
};

/* Bytes of an offer, and of the results of all operations. */
#define OPERATIONS_RESULTS_SIZE ((size_t)4 * 32)
#define OPERATIONS_OFFER_SIZE   (32 + 8 * 8 + OPERATIONS_RESULTS_SIZE)

void operations_offer_encode(
	const struct operations_offer *offer, uint8_t buffer[OPERATIONS_OFFER_SIZE]);

/*
 * Decodes an offer of length bytes. Returns 0; -EMSGSIZE if the length is wrong; -EPROTO if an
 * operation, a state, a code or a number is unknown or too large, or the memory exceeds the address
 * space.
 */
int operations_offer_decode(struct operations_offer *offer, const void *buffer, size_t length);

/* Encodes and decodes the results of all operations, as above. */
void operations_results_encode(
	const struct operation_result results[OPERATIONS], uint8_t buffer[OPERATIONS_RESULTS_SIZE]);
int operations_results_decode(
	struct operation_result results[OPERATIONS], const void *buffer, size_t length);

#endif
