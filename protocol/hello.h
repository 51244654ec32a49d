/*
 * The hello: 32 bytes of rdmacm private data by which our programs recognise one another, in the
 * connect request, the acceptance and the refusal. A peer that sends none is a program of the
 * tutorial. See docs/protocol.md, "Introduction". Any thread.
 */
#ifndef PROTOCOL_HELLO_H
#define PROTOCOL_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELLO_SIZE    32
#define HELLO_VERSION 2

enum hello_kind {
	HELLO_EXCHANGE = 0,    /* each side's data to the other */
	HELLO_DIAGNOSIS = 1,   /* commands and replies: protocol/command.h */
	HELLO_MEASUREMENT = 2, /* the same, and tests: protocol/test-parameters.h */
};

struct hello {
	uint16_t version;
	uint8_t mode;     /* enum mode_number */
	uint8_t kind;     /* enum hello_kind */
	uint32_t refusal; /* enum refusal of base/failure.h; 0 in a request or an acceptance */
	uint64_t size;    /* bytes that the sender will send, UINT64_MAX if unknown; of a
			     measurement: hello_shape() */
	uint32_t timeout; /* the sender's idle timeout, milliseconds */
	bool secret;      /* the sender has a secret, and a nonce follows */
};

void hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE]);

/*
 * Reads private data of length bytes, which the transport may have padded. Returns 0; -ENOMSG if it
 * does not begin with our magic (a tutorial peer, or another program); -EMSGSIZE if it does but is
 * too short. Version, mode and kind are not checked: the caller does that.
 */
int hello_decode(struct hello *hello, const void *data, size_t length);

/* True for a control session (protocol/command.h): a diagnosis or a measurement. */
bool hello_is_control(const struct hello *hello);

/* Encodes what a measurement needs: the number of queue pairs and their depth. */
uint64_t hello_shape(uint32_t queue_pairs, uint32_t depth);

/* Decodes it. Returns 0, or -ERANGE if test_shape_is_possible() is false. */
int hello_shape_decode(uint64_t size, uint32_t *queue_pairs, uint32_t *depth);

#endif
