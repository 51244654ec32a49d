/*
 * The messages of a diagnosis and of a measurement, which travel by SEND: the client's commands and
 * the server's replies. 64 bytes, little-endian, followed by a text. See docs/protocol.md,
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

/* Bounds of the memory that each side offers, in bytes. */
#define COMMAND_REGION_MIN ((uint32_t)1 << 20)
#define COMMAND_REGION_MAX ((uint32_t)1 << 24)

/* A reply has the type of its command. The numbers are on the wire; 3 to 7 were in use once. */
enum command_type {
	COMMAND_REGION = 0,   /* the sender's memory; the reply describes as much of the server's */
	COMMAND_FACTS = 1,    /* the reply's text: what the server is */
	COMMAND_COUNTERS = 2, /* the reply's text: the counters of the server's port */
	COMMAND_PROOF = 8, /* text: the client's proof of the secret; of the reply: the server's */
	COMMAND_QUEUE_PAIRS = 9, /* text, of both: the numbers of all queue pairs but the first */
	COMMAND_BEGIN =
		10, /* text: the parameters of a test, which begins (protocol/test-parameters.h) */
	COMMAND_END = 11, /* the client's half of the test is over; the reply's text: the result */
};

/* More than the largest type. */
#define COMMAND_TYPES (COMMAND_END + 1)

/* What became of a command. 1 was in use once. */
enum command_status {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 2,  /* the server cannot get the memory */
	COMMAND_REFUSED = 3, /* the command makes no sense to the server, or not now */
};

struct command {
	enum command_type type;
	bool reply;
	uint32_t number;            /* of the command, from 1, and of its reply */
	enum command_status status; /* of a reply */
	uint64_t address;           /* COMMAND_REGION */
	uint32_t length, rkey;      /* COMMAND_REGION */
	uint16_t text_size;         /* bytes, at most COMMAND_TEXT_MAX */
	const char *text;           /* not terminated, not trusted; lies in the message's buffer */
};

/* Writes the message into buffer; returns its size. Any thread. */
size_t command_encode(const struct command *message, uint8_t buffer[COMMAND_MAX]);

/*
 * Reads a message of length bytes, which must outlive it. Returns 0; -EMSGSIZE if the length is
 * wrong; -EPROTO if the type or status is unknown, or the region is impossible: empty, larger than
 * COMMAND_REGION_MAX, or beyond the end of the address space. Any thread.
 */
int command_decode(struct command *message, const void *buffer, size_t length);

#endif
