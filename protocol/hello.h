/*
 * How two of our programs introduce themselves: 32 bytes of rdmacm private data in the connect
 * request, in its acceptance and in its refusal. A peer that sends none is a program of the
 * tutorial. See docs/protocol.md, "Introduction".
 */
#ifndef PROTOCOL_HELLO_H
#define PROTOCOL_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_SIZE    32
#define HELLO_VERSION 2

enum hello_kind {
	HELLO_EXCHANGE = 0,    /* the data of one side to the other, both ways */
	HELLO_DIAGNOSIS = 1,   /* orders and answers: protocol/command.h */
	HELLO_MEASUREMENT = 2, /* the same, and runs: protocol/test-parameters.h */
};

/* Why a server refuses a connection; also on the wire, so numbers stay. */
enum refusal {
	REFUSAL_NONE = 0,
	REFUSAL_MODE = 1,      /* it runs in another mode: `mode` says which */
	REFUSAL_VERSION = 2,   /* it speaks another version: `version` says which */
	REFUSAL_SESSION = 3,   /* it does not know the kind of session asked for */
	REFUSAL_RESOURCES = 4, /* it could not get the memory or the queue pair */
	REFUSAL_DEVICE = 6,    /* it does not serve on the device that the request came through */
	REFUSAL_MALFORMED = 7, /* the introduction makes no sense */
	REFUSAL_STOPPING = 8,  /* it takes no more clients */
	REFUSAL_DEPTH = 9,   /* it may not READ from the client's memory, and the mode needs that */
	REFUSAL_BUSY = 10,   /* its input or output is another client's */
	REFUSAL_FILES = 11,  /* it deals with files, which the tutorial's programs cannot */
	REFUSAL_INPUT = 12,  /* it cannot read its own input */
	REFUSAL_FULL = 13,   /* it answers as many diagnoses as it can */
	REFUSAL_SECRET = 14, /* one has a secret and the other one does not, or another one */
	REFUSAL_CLIENTS = 15, /* it serves as many clients as it may */
	REFUSAL_ADDRESS = 16, /* it serves as many from that address as it may */
	REFUSAL_SIZE = 17,    /* it takes no stream of that size: `size` says up to which */
};

struct hello {
	uint16_t version;
	uint8_t mode;     /* enum mode_number */
	uint8_t settings; /* enum hello_kind */
	uint32_t refusal; /* enum refusal; 0 in a request or an acceptance */
	uint64_t size;    /* bytes that the sender will send, UINT64_MAX if it cannot tell; of a
			     measurement what hello_shape() makes of it */
	uint32_t timeout; /* milliseconds of silence after which the sender gives up */
	bool secret;      /* the sender has one, and a nonce follows */
};

/* Any thread. */
void hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE]);

/*
 * Reads private data of length bytes, which transports may have padded. Returns 0; -ENOMSG if it
 * does not begin with our magic (a tutorial peer, or another program); -EMSGSIZE if it does but
 * is cut short. Version, mode and kind are handed on as they are: the caller judges. Any thread.
 */
int hello_decode(struct hello *hello, const void *data, size_t length);

/* Whether the session is one of orders (protocol/command.h): a diagnosis or a measurement. Any thread. */
bool hello_is_control(const struct hello *hello);

/* What a measurement asks room for: so many queue pairs, of so many work requests each. */
uint64_t hello_shape(uint32_t queue_pairs, uint32_t depth);

/* Reads it. Returns 0, or -ERANGE if that is none or too much: protocol/test-parameters.h. Any thread. */
int hello_shape_decode(uint64_t size, uint32_t *queue_pairs, uint32_t *depth);

#endif
