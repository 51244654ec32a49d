/*
 * The control messages that travel by SEND: 56 bytes, little-endian, in the layout that the
 * tutorial's struct has on 64-bit Linux, so that its programs can talk to ours; behind them, in some
 * messages between ours, a text. See docs/protocol.md, "Control messages".
 */
#ifndef PROTOCOL_MESSAGE_H
#define PROTOCOL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/digest.h"
#include "protocol/secret.h"

#define MESSAGE_SIZE     56
#define MESSAGE_TEXT_MAX 255
#define MESSAGE_MAX      (MESSAGE_SIZE + MESSAGE_TEXT_MAX)

/* What the text behind a message says, if it may have one, is in parentheses. */
enum message_type {
	MSG_MR = 0,   /* "here is my region": address, length, rkey, depth (name of my data) */
	MSG_DONE = 1, /* "that was all of my data": its size and digest */
	MSG_VERDICT =
		2, /* "this is how your data arrived"; this and the next never to a tutorial peer */
	MSG_DATA = 3, /* "my stream now extends to this position" */
	MSG_CREDIT =
		4, /* "I am done with your stream up to this position, and with so many pieces" */
	MSG_ABORT = 5, /* "I give up" (why), and whether that is because of the secret */
	MSG_PROOF = 6, /* "I hold the secret" */
	MSG_TYPES
};

enum message_verdict {
	VERDICT_VERIFIED = 0,
	VERDICT_DAMAGED = 1,
};

struct message {
	enum message_type type;
	uint64_t address;     /* MSG_MR: where the peer may access our memory */
	uint64_t length;      /* MSG_MR: of that region; else of the stream; in bytes */
	uint32_t rkey;        /* MSG_MR: the key to it */
	uint32_t depth;       /* MSG_MR: pieces that the sender has receives for */
	uint64_t pieces;      /* MSG_CREDIT: number of pieces */
	struct digest digest; /* MSG_DONE: of the data; MSG_VERDICT: tag of the secret */
	uint32_t verdict;     /* MSG_VERDICT: enum message_verdict */
	uint32_t refusal;     /* MSG_ABORT: REFUSAL_SECRET, or 0 */
	uint8_t proof[SECRET_PROOF_SIZE]; /* MSG_PROOF */
	uint8_t text_size;                /* bytes, of MESSAGE_TEXT_MAX at most */
	char text[MESSAGE_TEXT_MAX];      /* not terminated, and not to be trusted */
};

/*
 * Writes the message into buffer, and what the type does not use as zero. Returns the size: of a
 * message without a text, MESSAGE_SIZE. Any thread.
 */
size_t message_encode(const struct message *message, uint8_t buffer[MESSAGE_MAX]);

/*
 * Reads a message of length bytes. Returns 0, -EMSGSIZE if no message of its type is so long, or
 * -EPROTO if the type is unknown, the region of a MSG_MR is empty or runs past the end of the
 * address space, or the verdict is unknown. The type is set in the -EPROTO cases. Any thread.
 */
int message_decode(struct message *message, const void *buffer, size_t length);

/* Gives the message a text, cut to MESSAGE_TEXT_MAX bytes. Any thread. */
void message_set_text(struct message *message, const char *text);

/* Returns "MSG_MR" and so on, "an unknown message" for other numbers. Any thread. */
const char *message_name(unsigned int type);

#endif
