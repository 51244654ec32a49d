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

struct hello {
	uint16_t version;
	uint8_t mode;     /* enum mode_number */
	uint8_t settings; /* enum hello_kind */
	uint32_t refusal; /* enum refusal of base/failure.h; 0 in a request or an acceptance */
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
