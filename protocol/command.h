/*
 * The messages of a diagnosis, which travel by SEND: orders that the client gives, and the server's
 * answers to them. 64 bytes, little-endian, and a text behind them. See docs/protocol.md,
 * "Diagnosis".
 */
#ifndef PROTOCOL_COMMAND_H
#define PROTOCOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_SIZE     64
#define COMMAND_TEXT_MAX 4032
#define COMMAND_MAX      (COMMAND_SIZE + COMMAND_TEXT_MAX)

/* The memory that each side offers, in bytes: so much at least, and the most that it may be. */
#define COMMAND_REGION_MIN ((uint32_t)1 << 20)
#define COMMAND_REGION_MAX ((uint32_t)1 << 24)

/* Orders. "Ours" is the server's. An answer has the type of its order. */
enum command_type {
	COMMAND_REGION = 0,   /* "my memory is here"; the answer tells of ours, as much at least */
	COMMAND_FACTS = 1,    /* tell what you are (text) */
	COMMAND_COUNTERS = 2, /* tell the device's counters (text) */
	COMMAND_FILL = 3,     /* put a pattern into your memory, for me to READ */
	COMMAND_CHECK = 4,    /* look whether the pattern is in your memory, which I have written */
	COMMAND_WRITE = 5,    /* WRITE a pattern into my memory */
	COMMAND_READ = 6,     /* READ a pattern from my memory, and look whether it is one */
	COMMAND_RUN = 7,      /* WRITE into my memory for some time, as fast as it goes */
	COMMAND_PROOF = 8,    /* "I hold the secret" (text); the answer has the server's proof */
	COMMAND_QUEUE_PAIRS =
		9, /* "more queue pairs of mine" (text: their numbers); so of the server */
	COMMAND_BEGIN =
		10, /* be ready for this plan (text, protocol/test-parameters.h), and carry out your half */
	COMMAND_END = 11, /* the run is over; tell your half (text: a tally) */
	COMMAND_TYPES
};

/* What became of an order. */
enum command_status {
	COMMAND_DONE = 0,
	COMMAND_WRONG = 1,   /* data was not the pattern: `offset` says where */
	COMMAND_FAILED = 2,  /* a work request failed: `code` is its enum ibv_wc_status */
	COMMAND_REFUSED = 3, /* the order makes no sense to the server, or not now */
	COMMAND_STATUSES
};

struct command {
	enum command_type type;
	bool reply;
	uint32_t number;            /* of the order, counted from 1, and of its answer */
	enum command_status status; /* of an answer */
	uint32_t code;
	uint64_t address;      /* COMMAND_REGION */
	uint32_t length, rkey; /* COMMAND_REGION */
	uint32_t size;         /* bytes to move; of COMMAND_RUN by each WRITE */
	uint32_t milliseconds; /* COMMAND_RUN: how long */
	uint64_t seed;         /* of the pattern */
	uint64_t offset;      /* COMMAND_WRONG: of the first wrong byte; COMMAND_RUN: bytes moved */
	uint64_t nanoseconds; /* COMMAND_RUN: that this took */
	uint16_t text_size;   /* bytes, of COMMAND_TEXT_MAX at most */
	const char *text;     /* not terminated, and not to be trusted; lies in the buffer */
};

/* Writes the message into buffer; returns its size. Any thread. */
size_t command_encode(const struct command *message, uint8_t buffer[COMMAND_MAX]);

/*
 * Reads a message of length bytes, which must outlive it. Returns 0; -EMSGSIZE if it has a wrong
 * length; -EPROTO if its type or status is unknown, or a region is impossible: empty, larger than
 * COMMAND_REGION_MAX, past the end of the address space. Any thread.
 */
int command_decode(struct command *message, const void *buffer, size_t length);

#endif
