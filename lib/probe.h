/*
 * The messages of a diagnosis, which travel by SEND: orders that the client gives, and the server's
 * answers to them. 64 bytes, little-endian, and a text behind them. See docs/protocol.md,
 * "Diagnosis".
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_SIZE     64
#define PROBE_TEXT_MAX 4032
#define PROBE_MAX      (PROBE_SIZE + PROBE_TEXT_MAX)

/* The most that one order moves, and so the size of the memory that each side offers, in bytes. */
#define PROBE_REGION_MAX ((uint32_t)1 << 20)

/* Orders. "Ours" is the server's. An answer has the type of its order. */
enum probe_type {
	PROBE_REGION = 0,   /* "my memory is here"; the answer tells of ours */
	PROBE_FACTS = 1,    /* tell what you are (text) */
	PROBE_COUNTERS = 2, /* tell the device's counters (text) */
	PROBE_FILL = 3,     /* put a pattern into your memory, for me to READ */
	PROBE_CHECK = 4,    /* look whether the pattern is in your memory, which I have written */
	PROBE_WRITE = 5,    /* WRITE a pattern into my memory */
	PROBE_READ = 6,     /* READ a pattern from my memory, and look whether it is one */
	PROBE_RUN = 7,      /* WRITE into my memory for some time, as fast as it goes */
	PROBE_TYPES
};

/* What became of an order. */
enum probe_status {
	PROBE_DONE = 0,
	PROBE_WRONG = 1,   /* data was not the pattern: `offset` says where */
	PROBE_FAILED = 2,  /* a work request failed: `code` is its enum ibv_wc_status */
	PROBE_REFUSED = 3, /* the order makes no sense to the server, or not now */
	PROBE_STATUSES
};

struct probe_message {
	enum probe_type type;
	bool answer;
	uint32_t number;          /* of the order, counted from 1, and of its answer */
	enum probe_status status; /* of an answer */
	uint32_t code;
	uint64_t address;      /* PROBE_REGION */
	uint32_t length, rkey; /* PROBE_REGION */
	uint32_t size;         /* bytes to move; of PROBE_RUN by each WRITE */
	uint32_t milliseconds; /* PROBE_RUN: how long */
	uint64_t seed;         /* of the pattern */
	uint64_t offset;       /* PROBE_WRONG: of the first wrong byte; PROBE_RUN: bytes moved */
	uint64_t nanoseconds;  /* PROBE_RUN: that this took */
	uint16_t text_size;    /* bytes, of PROBE_TEXT_MAX at most */
	const char *text;      /* not terminated, and not to be trusted; lies in the buffer */
};

/* Writes the message into buffer; returns its size. Any thread. */
size_t probe_encode(const struct probe_message *message, uint8_t buffer[PROBE_MAX]);

/*
 * Reads a message of length bytes, which must outlive it. Returns 0; -EMSGSIZE if it has a wrong
 * length; -EPROTO if its type or status is unknown, or a region is impossible: empty, larger than
 * PROBE_REGION_MAX, past the end of the address space. Any thread.
 */
int probe_decode(struct probe_message *message, const void *buffer, size_t length);

#endif
