/*
 * The control messages that travel by SEND: 56 bytes, little-endian, in the layout that the
 * tutorial's struct has on 64-bit Linux, so that its programs can talk to ours. See
 * docs/protocol.md, "Control messages".
 */
#ifndef MESSAGE_H
#define MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "digest.h"

#define MESSAGE_SIZE 56

enum message_type {
	MSG_MR = 0,      /* "here is my region": address, length, rkey */
	MSG_DONE = 1,    /* "my WRITE or READ is complete": size and digest of what I offered */
	MSG_VERDICT = 2, /* "this is how your data arrived"; never to a tutorial peer */
	MSG_TYPES
};

enum message_verdict {
	VERDICT_VERIFIED = 0,
	VERDICT_DAMAGED = 1,
};

struct message {
	enum message_type type;
	uint64_t address;     /* MSG_MR: where the peer may access our memory */
	uint64_t length;      /* MSG_MR: of that region; MSG_DONE: of the message; in bytes */
	uint32_t rkey;        /* MSG_MR: the key to it */
	struct digest digest; /* MSG_DONE: of the message */
	uint32_t verdict;     /* MSG_VERDICT: enum message_verdict */
};

/*
 * Writes the message into buffer, every one of its MESSAGE_SIZE bytes; what the type does not use
 * is zero. Any thread.
 */
void message_encode(const struct message *message, uint8_t buffer[MESSAGE_SIZE]);

/*
 * Reads a message of length bytes. Returns 0, -EMSGSIZE if the length is not MESSAGE_SIZE, or
 * -EPROTO if the type is unknown, the region of a MSG_MR is empty or runs past the end of the
 * address space, or the verdict is unknown. The type is set in the -EPROTO cases. Any thread.
 */
int message_decode(struct message *message, const void *buffer, size_t length);

/* Returns "MSG_MR" and so on, "an unknown message" for other numbers. Any thread. */
const char *message_name(unsigned int type);

#endif
