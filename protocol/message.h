/*
 * The control messages of an exchange, sent by SEND: 56 bytes, little-endian, with the layout of
 * the tutorial's struct on 64-bit Linux, so that its programs can talk to ours. Between our
 * programs, text follows some of them. See docs/protocol.md, "Control messages". Any thread.
 * Diagnoses and measurements use commands instead: protocol/command.h.
 *
 * A new message type needs
 *   - a constant in enum message_type, MSG_TYPES, and its name, encoding and decoding in message.c;
 *   - to be received, a case in take_message() of exchange/driver.c;
 *   - to be sent, an operation in exchange/internal.h and its row in exchange/driver.c;
 *   - if it affects the order of messages, exchange/state-machine.c and tests/model;
 *   - room in the queues: the numbers of messages in exchange/buffers.c, a slot there if it has a
 *     text, and RESERVED in exchange/post.c if it must be sent when the send queue is full;
 *   - its rules in docs/protocol.md ("Versions"): a tutorial peer must never receive it.
 */
#ifndef PROTOCOL_MESSAGE_H
#define PROTOCOL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/digest.h"
#include "protocol/secret.h"

#define MESSAGE_SIZE     56
#define MESSAGE_TEXT_MAX 255
#define MESSAGE_MAX      (MESSAGE_SIZE + MESSAGE_TEXT_MAX)

/* The name of a device and its port in MSG_VERDICT, "mlx5_0/1", and its terminating zero. */
#define MESSAGE_DEVICE_SIZE 32

/* A tutorial peer knows only MSG_MR and MSG_DONE. Optional text is in parentheses. */
enum message_type {
	MSG_MR = 0,      /* the sender's region: address, length, rkey, depth (name of its data) */
	MSG_DONE = 1,    /* the sender's data is complete: its size and digest */
	MSG_VERDICT = 2, /* whether the recipient's data arrived undamaged */
	MSG_DATA = 3,    /* the sender's stream now extends to this position */
	MSG_CREDIT = 4,  /* the recipient's stream is consumed up to this position and piece */
	MSG_ABORT = 5,   /* the sender aborts (reason) */
	MSG_PROOF = 6,   /* proof that the sender holds the secret */
	MSG_HAVE = 7,    /* the sender already has so many bytes of the recipient's file: digest */
	MSG_START = 8,   /* the sender's data starts after this many bytes of its file */
};

/* Not in the enum, so that the compiler reports a switch that omits a message type. */
#define MSG_TYPES (MSG_START + 1)

enum message_verdict {
	VERDICT_VERIFIED = 0,
	VERDICT_DAMAGED = 1,
	VERDICT_INCOMPLETE = 2, /* verified, but attributes (protocol/attributes.h) were lost */
};

struct message {
	enum message_type type;
	uint64_t address; /* MSG_MR: start of the region that the recipient may access */
	uint64_t
		length; /* bytes of the region (MSG_MR), the file (MSG_HAVE, MSG_START), the stream */
	uint32_t rkey;    /* MSG_MR: key of the region */
	uint64_t storage; /* MSG_MR: bytes of storage that the sender's file needs, or 0 */
	uint32_t kept;    /* MSG_MR: what its sender keeps of a tree: enum attributes_kept */
	/*
	 * MSG_HAVE: its sender can store a stream that leaves out holes; MSG_START: so does the
	 * stream.
	 */
	bool holes;
	uint32_t depth;       /* MSG_MR: pieces for which the sender has posted receives */
	uint64_t pieces;      /* MSG_CREDIT: pieces consumed */
	struct digest digest; /* MSG_DONE, MSG_HAVE: of the data; MSG_VERDICT: authentication tag */
	uint32_t verdict;     /* MSG_VERDICT: enum message_verdict */
	char device[MESSAGE_DEVICE_SIZE]; /* MSG_VERDICT: untrusted, "" if unknown, terminated */
	uint32_t refusal;                 /* MSG_ABORT: REFUSAL_SECRET, _MALFORMED, or 0 */
	uint8_t proof[SECRET_PROOF_SIZE]; /* MSG_PROOF */
	uint8_t text_size;                /* bytes, at most MESSAGE_TEXT_MAX */
	char text[MESSAGE_TEXT_MAX];      /* not terminated, untrusted */
};

/*
 * Encodes the message into buffer, with zeros where its type has no field. Returns its size:
 * MESSAGE_SIZE, plus the text if its type may have one.
 */
size_t message_encode(const struct message *message, uint8_t buffer[MESSAGE_MAX]);

/*
 * Decodes a message of length bytes. Returns 0; -EMSGSIZE if the length is wrong for its type;
 * -EPROTO, with the type set, if the type or verdict is unknown, or the region of a MSG_MR is empty
 * or extends past the end of the address space.
 */
int message_decode(struct message *message, const void *buffer, size_t length);

/* Sets the text, truncated to MESSAGE_TEXT_MAX bytes. */
void message_set_text(struct message *message, const char *text);

/* Returns "MSG_MR" and so on, or "an unknown message". */
const char *message_name(unsigned int type);

#endif
