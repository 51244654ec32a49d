/*
 * The messages of a diagnosis, which travel by SEND: orders that the client gives, and the server's
 * answers to them. 64 bytes, little-endian, and a text behind them. See docs/protocol.md,
 * "Diagnosis".
 */
#ifndef ORDER_H
#define ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_SIZE     64
#define ORDER_TEXT_MAX 4032
#define ORDER_MAX      (ORDER_SIZE + ORDER_TEXT_MAX)

/* The memory that each side offers, in bytes: so much at least, and the most that it may be. */
#define ORDER_REGION_MIN ((uint32_t)1 << 20)
#define ORDER_REGION_MAX ((uint32_t)1 << 24)

/* Orders. "Ours" is the server's. An answer has the type of its order. */
enum order_type {
	ORDER_REGION = 0,   /* "my memory is here"; the answer tells of ours, as much at least */
	ORDER_FACTS = 1,    /* tell what you are (text) */
	ORDER_COUNTERS = 2, /* tell the device's counters (text) */
	ORDER_FILL = 3,     /* put a pattern into your memory, for me to READ */
	ORDER_CHECK = 4,    /* look whether the pattern is in your memory, which I have written */
	ORDER_WRITE = 5,    /* WRITE a pattern into my memory */
	ORDER_READ = 6,     /* READ a pattern from my memory, and look whether it is one */
	ORDER_RUN = 7,      /* WRITE into my memory for some time, as fast as it goes */
	ORDER_PROOF = 8,    /* "I hold the secret" (text); the answer has the server's proof */
	ORDER_LANES = 9,    /* "more queue pairs of mine" (text: their numbers); so of the server */
	ORDER_BEGIN = 10,   /* be ready for this plan (text, lib/plan.h), and carry out your half */
	ORDER_END = 11,     /* the run is over; tell your half (text: a tally) */
	ORDER_TYPES
};

/* What became of an order. */
enum order_status {
	ORDER_DONE = 0,
	ORDER_WRONG = 1,   /* data was not the pattern: `offset` says where */
	ORDER_FAILED = 2,  /* a work request failed: `code` is its enum ibv_wc_status */
	ORDER_REFUSED = 3, /* the order makes no sense to the server, or not now */
	ORDER_STATUSES
};

struct order {
	enum order_type type;
	bool answer;
	uint32_t number;          /* of the order, counted from 1, and of its answer */
	enum order_status status; /* of an answer */
	uint32_t code;
	uint64_t address;      /* ORDER_REGION */
	uint32_t length, rkey; /* ORDER_REGION */
	uint32_t size;         /* bytes to move; of ORDER_RUN by each WRITE */
	uint32_t milliseconds; /* ORDER_RUN: how long */
	uint64_t seed;         /* of the pattern */
	uint64_t offset;       /* ORDER_WRONG: of the first wrong byte; ORDER_RUN: bytes moved */
	uint64_t nanoseconds;  /* ORDER_RUN: that this took */
	uint16_t text_size;    /* bytes, of ORDER_TEXT_MAX at most */
	const char *text;      /* not terminated, and not to be trusted; lies in the buffer */
};

/* Writes the message into buffer; returns its size. Any thread. */
size_t order_encode(const struct order *message, uint8_t buffer[ORDER_MAX]);

/*
 * Reads a message of length bytes, which must outlive it. Returns 0; -EMSGSIZE if it has a wrong
 * length; -EPROTO if its type or status is unknown, or a region is impossible: empty, larger than
 * ORDER_REGION_MAX, past the end of the address space. Any thread.
 */
int order_decode(struct order *message, const void *buffer, size_t length);

#endif
