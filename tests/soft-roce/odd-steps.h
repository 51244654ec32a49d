/*
 * The steps of an odd peer: what it says and does when it is connected. The head of odd-peer.c lists
 * them.
 */
#ifndef ODD_STEPS_H
#define ODD_STEPS_H

#include "endpoint.h"
#include "lib/digest.h"
#include "lib/handshake.h"
#include "lib/message.h"
#include "lib/order.h"

#define ODD_TEXT  "message from an odd peer"
#define ODD_INBOX 16

struct peer {
	struct endpoint end;
	struct secret *secret; /* NULL: none */
	struct handshake handshake;
	struct message proof; /* the other side's */
	bool tutorial;        /* it gave no introduction */
	bool reposts;         /* a receive is posted again when it was used */
	uint64_t size;        /* that it announces */
	uint64_t shape;       /* of its measurement: lib/introduction.h */
	const char *name;     /* of its data */
	uint64_t position;    /* of our stream */
	struct digester *digester;
	struct message theirs;
	unsigned int sends; /* posted and not completed */
	bool failed;        /* a completion has failed */
	struct {
		uint8_t bytes[ENDPOINT_SLOT];
		uint32_t length;
	} inbox[ODD_INBOX]; /* messages that nobody asked for yet, in their order */
	unsigned int came, taken;
	uint32_t orders;      /* number of the last one, given or taken */
	enum order_type told; /* the last that came */
	uint32_t plan_size;   /* bytes of an operation */
};

/* Sends these bytes as a message. */
void odd_send(struct peer *peer, const void *bytes, size_t length);

/* Makes its transcript that of another connection, in which our nonce was another one, or theirs was. */
void odd_other_nonce(struct handshake *handshake, bool ours);

/* Waits until what was posted is complete, or failed. */
void odd_finish(struct peer *peer);

/* Waits for the next message; it stays valid until the next call. False if none can come any more. */
bool odd_next(struct peer *peer, const uint8_t **bytes, size_t *length);

/* Does the step that `word` names; what follows a colon says how. */
void odd_step(struct peer *peer, const char *word);

#endif
