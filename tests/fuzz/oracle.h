/*
 * An oracle for one end of a connection on the fake device (tests/unit/verbs/fake-verbs.h). It
 * records what the peer has sent and what this end has posted, and checks whether this end may post
 * it and, finally, whether its verdict is correct. It uses no state of the code under test.
 */
#ifndef TESTS_FUZZ_ORACLE_H
#define TESTS_FUZZ_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"
#include "protocol/digest.h"
#include "protocol/handshake.h"
#include "protocol/message.h"
#include "tests/unit/verbs/fake-verbs.h"

/* The longest valid stream of a peer. */
#define ORACLE_STREAM_MAX 8192

struct oracle {
	/* set by the target */
	struct rdma_cm_id *id;
	bool writes, sends, tutorial, active, iwarp; /* neither writes nor sends: read mode */
	const uint8_t *ours;                         /* the stream of this end */
	size_t ours_size;
	uint8_t *memory; /* the peer's real memory */
	size_t memory_size;
	struct handshake peer; /* the peer's half of the handshake; its secret may be NULL */

	/* what the peer has sent and done */
	bool received[MSG_TYPES];
	struct message region, done;
	bool proved;               /* the peer is authenticated, or there is no secret */
	bool verified;             /* its MSG_VERDICT was VERDICT_VERIFIED */
	uint64_t credited, pieces; /* by MSG_CREDIT */
	uint8_t stream[ORACLE_STREAM_MAX];
	size_t streamed;
	bool unknown_data; /* its stream may differ from `stream` */
	bool broken;       /* it violated the message order: the exchange must fail */
	uint64_t messages; /* which use up receives of this end */

	/* what this end has posted */
	unsigned int checked;
	unsigned int sent[MSG_TYPES];
	struct message offered; /* MSG_MR of this end */
	uint64_t written, announced, pieces_announced;
	uint64_t messages_sent;
};

/* Returns the digest of the peer's stream, which a correct MSG_DONE contains. */
struct digest oracle_digest(const struct oracle *oracle);

/* Records a message from the peer, before it arrives. */
void oracle_receive(struct oracle *oracle, const void *bytes, size_t length);

/* Records data announced by immediate data or sent with its MSG_DATA, before it arrives. */
void oracle_receive_data(struct oracle *oracle);

/* True if the send is a message, or an RDMA operation within the peer's memory. */
bool oracle_reaches(const struct oracle *oracle, const struct fake_send *send);

/* Checks the sends posted since the last call. This end must have processed all messages. */
void oracle_check_sends(struct oracle *oracle);

/* Checks the outcome of the exchange. */
void oracle_judge(const struct oracle *oracle, const struct failure *outcome);

#endif
