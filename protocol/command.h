/*
 * The client's commands and the server's replies in a diagnosis or a measurement, sent by SEND: 64
 * bytes, little-endian, followed by text. See docs/protocol.md, "Diagnosis".
 */
#ifndef PROTOCOL_COMMAND_H
#define PROTOCOL_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_SIZE     64
#define COMMAND_TEXT_MAX 4032
#define COMMAND_MAX      (COMMAND_SIZE + COMMAND_TEXT_MAX)

/* Limits of the memory that each side offers, in bytes. */
#define COMMAND_REGION_MIN ((uint32_t)1 << 20)
#define COMMAND_REGION_MAX ((uint32_t)1 << 24)

/* The maximum length of a reason, in bytes. */
#define COMMAND_REASON_MAX 255

/*
 * A reply has the type of its command. Only the server sends COMMAND_ABORT, as a reply without a
 * command. The values are used on the wire; 3 to 7 are retired.
 */
enum command_type {
	COMMAND_REGION = 0,   /* the sender's memory; the server's is at least as large */
	COMMAND_FACTS = 1,    /* text of the reply: facts about the server */
	COMMAND_COUNTERS = 2, /* text of the reply: the counters of the server's port */
	COMMAND_PROOF = 8, /* text: proof of the secret, the client's; in the reply, the server's */
	COMMAND_QUEUE_PAIRS = 9, /* text of both: the numbers of all queue pairs but the first */
	COMMAND_BEGIN = 10, /* text: parameters of the test to start (protocol/test-parameters.h) */
	COMMAND_END = 11, /* the client's half of the test is over; text of the reply: the result */
	COMMAND_ABORT = 12,      /* the server ends the session; text: the reason */
	COMMAND_OPERATIONS = 13, /* text of both: struct operations_offer (protocol/operations.h) */
	COMMAND_OPERATIONS_END = 14,  /* text of both: the results of all operations */
	COMMAND_OPERATIONS_LINK = 15, /* iWARP: text: results; of the reply: an offer */
};

/* One more than the largest type. */
#define COMMAND_TYPES (COMMAND_OPERATIONS_LINK + 1)

/* The result of a command. 1 is retired. */
enum command_status {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 2,  /* the server cannot allocate memory or a queue pair */
	COMMAND_REFUSED = 3, /* the command is invalid, or not allowed now */
};

struct command {
	enum command_type type;
	bool reply;
	uint32_t number;            /* of the command, counted from 1; the reply repeats it */
	enum command_status status; /* in a reply */
	uint64_t address;           /* COMMAND_REGION */
	uint32_t length, rkey;      /* COMMAND_REGION */
	uint16_t text_size;         /* bytes, at most COMMAND_TEXT_MAX */
	const char *text;           /* not terminated, untrusted; points into the message buffer */
};

/* Encodes the message into buffer and returns its size. Any thread. */
size_t command_encode(const struct command *message, uint8_t buffer[COMMAND_MAX]);

/*
 * Decodes a message of length bytes; buffer must outlive it. Returns 0; -EMSGSIZE if the length is
 * wrong; -EPROTO if the type or status is unknown, or the region is invalid: empty, larger than
 * COMMAND_REGION_MAX, or beyond the end of the address space. Any thread.
 */
int command_decode(struct command *message, const void *buffer, size_t length);

#endif
