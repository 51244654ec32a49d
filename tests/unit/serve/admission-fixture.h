/*
 * One end of a connection, with a secret, on the fake device. The test plays the peer, which has
 * the same secret, a different secret or none.
 */
#ifndef TESTS_UNIT_SERVE_ADMISSION_FIXTURE_H
#define TESTS_UNIT_SERVE_ADMISSION_FIXTURE_H

#include "exchange/internal.h"
#include "protocol/handshake.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/fixture.h"

/*
 * True if a peer that knows or guesses the rkey can access this region or, respectively, any region
 * of the connection.
 */
bool region_is_reachable(const struct region *region);
bool fixture_is_reachable(const struct fixture *fixture);

/*
 * Starts a passive end whose peer holds the secret `peers`. Initializes *peer, the peer's handshake
 * state.
 */
void fixture_start_passive(
	struct fixture *fixture, struct handshake *peer, const struct secret *peers);

/*
 * Starts an active end whose peer replies with private data truncated to `length` bytes.
 * Initializes *peer. Returns the result of connection_established().
 */
int fixture_start_active(struct fixture *fixture, struct handshake *peer,
	const struct secret *peers, uint8_t length, struct failure *failure);

/* Returns the peer's MSG_PROOF. */
struct message fixture_proof(const struct handshake *handshake);

#endif
