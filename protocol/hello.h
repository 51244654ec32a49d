/*
 * The hello: 32 bytes of rdmacm private data that identify our programs to each other, in the
 * connection request, the acceptance and the refusal. A peer that sends none is a tutorial program.
 * See docs/protocol.md, "Hello". Any thread.
 */
#ifndef PROTOCOL_HELLO_H
#define PROTOCOL_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

#define HELLO_SIZE    32
#define HELLO_VERSION 2

enum hello_kind {
	HELLO_EXCHANGE = 0,    /* each side sends data to the other */
	HELLO_DIAGNOSIS = 1,   /* commands and replies: protocol/command.h */
	HELLO_MEASUREMENT = 2, /* a diagnosis with tests: protocol/test-parameters.h */
};

/*
 * What the sender does with data, in an exchange. Version 0.1 sends 0.
 */
enum hello_flag {
	HELLO_PLANS = 1 << 0,      /* the other flags are valid */
	HELLO_SENDS_DATA = 1 << 1, /* its stream is a file or a given message, not the greeting */
	HELLO_SENDS_FILE = 1 << 2, /* its stream is a file, which cannot be shown */
	HELLO_TAKES_FILE = 1 << 3, /* it stores the peer's data, or discards it on request */
	HELLO_WANTS_DATA = 1 << 4, /* it stores the peer's data */
	HELLO_RESUMES = 1 << 5,    /* it understands MSG_HAVE and MSG_START */
	HELLO_SENDS_TREE = 1 << 6, /* its stream is a tree stream: protocol/tree.h */
	HELLO_TAKES_TREE = 1 << 7, /* it stores tree streams in a folder, or discards them */
};

/* In a diagnosis or measurement, the same byte describes the tests. Version 0.1 sends 0. */
enum hello_test_flag {
	HELLO_BANDWIDTH = 1 << 0, /* client: bandwidth only, so neither end polls memory for data */
	HELLO_ANSWERS = 1 << 1,   /* it answers keepalives (server), or expects answers (client) */
	HELLO_EXPLAINED = 1 << 2, /* client: it understands COMMAND_ABORT */
	HELLO_WORKER = 1 << 3,    /* client: another of its sessions reports the measurement */
	HELLO_OPERATIONS = 1 << 4, /* server: it understands COMMAND_OPERATIONS */
	HELLO_RECEIVES = 1 << 5,   /* client: its operations use up receives */
	HELLO_LINKS = 1 << 6,      /* server: it understands COMMAND_OPERATIONS_LINK */
	HELLO_SHARES = 1 << 7,     /* client: their queue pairs share the receives */
};

struct hello {
	uint16_t version;
	uint8_t mode;     /* enum mode_number */
	uint8_t kind;     /* enum hello_kind */
	uint32_t refusal; /* enum refusal (base/failure.h); 0 in a request or an acceptance */
	uint64_t size;    /* bytes to be sent, UINT64_MAX if unknown; measurement: hello_shape() */
	uint32_t timeout; /* idle timeout of the sender, milliseconds */
	bool secret; /* the sender has a secret; a nonce follows. Refusal: it knows such secrets */
	uint8_t flags; /* enum hello_flag; control session: enum hello_test_flag */
	/*
	 * Exchange with test data: RDMA MTU of its port, bytes; measurement: hello_requests();
	 * otherwise 0.
	 */
	uint16_t mtu;
	bool extended; /* exchange: the sender understands TREE_SPARSE and TREE_HARD_LINK */
	bool answers;  /* exchange: it understands TREE_ASK and what follows from that */
	bool keeps; /* exchange: it keeps attributes (protocol/attributes.h); MSG_MR says which */
	bool old_secret; /* decoded only: the sender has a secret of release 0.1 */
};

void hello_encode(const struct hello *hello, uint8_t buffer[HELLO_SIZE]);

/*
 * Decodes private data of length bytes, which the transport may have padded. Returns 0; -ENOMSG if
 * it does not begin with our magic number (a tutorial peer, or another program); -EMSGSIZE if it
 * does but is too short. The caller checks version, mode and kind.
 */
int hello_decode(struct hello *hello, const void *data, size_t length);

/*
 * Returns REFUSAL_NONE if both sides' plans agree, or the reason for the server to refuse: data
 * would be verified and lost, or a side would store something other than data.
 */
enum refusal hello_check_plans(const struct hello *server, const struct hello *client);

/* True if the sender announced that its stream is only the greeting, which is never stored. */
bool hello_is_greeting(const struct hello *hello);

/* True if the sender's file may resume at the receiver: MSG_HAVE and MSG_START precede its data. */
bool hello_resumes(const struct hello *sender, const struct hello *receiver);

/*
 * True if the sender of a tree asks the receiver what it has, whose own stream then consists of the
 * answers, instead of a greeting: its size is unknown.
 */
bool hello_asks(const struct hello *sender, const struct hello *receiver);

/* True for a control session (protocol/command.h): a diagnosis or a measurement. */
bool hello_is_control(const struct hello *hello);

/* Encodes the shape of a measurement: the number of queue pairs and their depth. */
uint64_t hello_shape(uint32_t queue_pairs, uint32_t depth);

/*
 * Encodes what the work requests of a measurement need: bytes of inline data (0: the default) and
 * pieces of local memory.
 */
uint16_t hello_requests(uint32_t inline_max, uint32_t gathers);

/* Decodes the same. Returns 0, or -ERANGE if a number is beyond its limit. */
int hello_requests_decode(uint16_t requests, uint32_t *inline_max, uint32_t *gathers);

/* Decodes the shape. Returns 0, or -ERANGE if test_shape_is_possible() is false. */
int hello_shape_decode(uint64_t size, uint32_t *queue_pairs, uint32_t *depth);

#endif
