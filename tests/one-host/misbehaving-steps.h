/* The steps of a connected misbehaving peer, listed at the top of misbehaving-peer.c. */
#ifndef TESTS_ONE_HOST_MISBEHAVING_STEPS_H
#define TESTS_ONE_HOST_MISBEHAVING_STEPS_H

#include "protocol/command.h"
#include "protocol/digest.h"
#include "protocol/handshake.h"
#include "protocol/message.h"
#include "tests/one-host/endpoint.h"

#define MISBEHAVING_TEXT  "message from a test peer"
#define MISBEHAVING_INBOX 16

struct peer {
	struct endpoint end;
	struct secret *secret; /* NULL: none */
	struct handshake handshake;
	struct message proof; /* received from the other side */
	bool tutorial;        /* sent no hello */
	bool reposts;         /* repost each used receive */
	uint64_t size;        /* announced bytes */
	uint64_t shape;       /* queue limits of a measurement: protocol/hello.h */
	const char *name;     /* of the data, in MSG_MR */
	uint64_t position;    /* in our stream */
	struct digester *digester;
	struct message theirs;
	unsigned int sends; /* in flight */
	bool failed;        /* a completion has failed */
	struct {
		uint8_t bytes[ENDPOINT_SLOT];
		uint32_t length;
	} inbox[MISBEHAVING_INBOX]; /* unread messages, in order of arrival */
	unsigned int came, taken;
	uint32_t commands;          /* sequence number of the last command, sent or received */
	enum command_type received; /* type of the last received command */
	uint32_t operation_size;    /* bytes of an operation */
	struct ibv_qp *own, *other; /* more queue pairs; NULL: none */
	struct ibv_ah *address;     /* for datagrams; NULL: none */
	uint32_t to;                /* the number of the queue pair that they go to */
};

/* Sends these bytes as a message. */
void misbehaving_send(struct peer *peer, const void *bytes, size_t length);

/* Replaces our nonce, or the other side's, in the transcript, as if from another connection. */
void misbehaving_other_nonce(struct handshake *handshake, bool ours);

/* Waits until all posted sends are complete or a send has failed. */
void misbehaving_finish(struct peer *peer);

/* Waits for one completion. */
void misbehaving_await(struct peer *peer);

/*
 * Waits for the next message, which is valid until the next call. Returns false if the connection
 * has failed.
 */
bool misbehaving_next(struct peer *peer, const uint8_t **bytes, size_t *length);

/* Executes the step NAME or NAME:HOW. */
void misbehaving_step(struct peer *peer, const char *word);

#endif
