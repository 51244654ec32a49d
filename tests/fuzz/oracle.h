/*
 * An oracle for one end of a connection on the made-up device (tests/unit/verbs/fake-verbs.h). It
 * records what the peer has sent and what the end has posted, and decides whether the end may post
 * it and, at the end, whether its verdict is right. It uses no state of the code under test.
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

/* The longest stream that a peer sends in good order. */
#define ORACLE_STREAM_MAX 8192

struct oracle {
	/* set by the target */
	struct rdma_cm_id *id;
	bool writes, tutorial, active, iwarp;
	const uint8_t *ours; /* what this end sends */
	size_t ours_size;
	uint8_t *memory; /* the peer's, as far as it is real */
	size_t memory_size;
	struct handshake peer; /* with a secret, the peer's half of it */

	/* what the peer has said, and done */
	bool received[MSG_TYPES];
	struct message region, done;
	bool proved;               /* it has proved that it holds the secret, or there is none */
	bool verified;             /* MSG_VERDICT was that */
	uint64_t credited, pieces; /* by MSG_CREDIT */
	uint8_t stream[ORACLE_STREAM_MAX];
	size_t streamed;
	bool unknown_data; /* more of its stream, or other, than is in `stream` */
	bool broken;       /* the order of the messages: that cannot end well */

	/* what this end has posted */
	unsigned int checked;
	unsigned int sent[MSG_TYPES];
	struct message offered; /* its MSG_MR */
	uint64_t written, announced, pieces_announced;
};

/* The digest of what the peer has sent, as its MSG_DONE has it. */
struct digest oracle_digest(const struct oracle *oracle);

/* A message of the peer will arrive. */
void oracle_receive(struct oracle *oracle, const void *bytes, size_t length);

/* Data will. */
void oracle_receive_data(struct oracle *oracle);

/* True if the RDMA of the oldest send that waits goes where the peer has memory. */
bool oracle_reaches(const struct oracle *oracle, const struct fake_send *send);

/* Looks at what was posted since the last time. All that was to be heard has been taken. */
void oracle_check_sends(struct oracle *oracle);

/* Judges how the exchange has ended. */
void oracle_judge(const struct oracle *oracle, const struct failure *outcome);

#endif
