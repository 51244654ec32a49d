/*
 * The steps of a misbehaving peer: what it says and does when it is connected. The head of
 * misbehaving-peer.c lists them.
 */
#ifndef TESTS_SOFT_ROCE_MISBEHAVING_STEPS_H
#define TESTS_SOFT_ROCE_MISBEHAVING_STEPS_H

#include "protocol/command.h"
#include "protocol/digest.h"
#include "protocol/handshake.h"
#include "protocol/message.h"
#include "tests/soft-roce/endpoint.h"

#define MISBEHAVING_TEXT  "message from a test peer"
#define MISBEHAVING_INBOX 16

struct peer {
	struct endpoint end;
	struct secret *secret; /* NULL: none */
	struct handshake handshake;
	struct message proof; /* the other side's */
	bool tutorial;        /* it gave no hello */
	bool reposts;         /* a receive is posted again when it was used */
	uint64_t size;        /* that it announces */
	uint64_t shape;       /* of its measurement: protocol/hello.h */
	const char *name;     /* of its data */
	uint64_t position;    /* of our stream */
	struct digester *digester;
	struct message theirs;
	unsigned int sends; /* posted and not completed */
	bool failed;        /* a completion has failed */
	struct {
		uint8_t bytes[ENDPOINT_SLOT];
		uint32_t length;
	} inbox[MISBEHAVING_INBOX]; /* messages not yet asked for, in order of arrival */
	unsigned int came, taken;
	uint32_t commands;          /* number of the last one, given or taken */
	enum command_type received; /* the last that came */
	uint32_t operation_size;    /* bytes of an operation */
};

/* Sends these bytes as a message. */
void misbehaving_send(struct peer *peer, const void *bytes, size_t length);

/*
 * Makes its transcript that of another connection, in which our nonce was another one, or theirs
 * was.
 */
void misbehaving_other_nonce(struct handshake *handshake, bool ours);

/* Waits until what was posted is complete, or failed. */
void misbehaving_finish(struct peer *peer);

/*
 * Waits for the next message; it stays valid until the next call. False if none can come any more.
 */
bool misbehaving_next(struct peer *peer, const uint8_t **bytes, size_t *length);

/* Does the step that `word` names; what follows a colon says how. */
void misbehaving_step(struct peer *peer, const char *word);

#endif
