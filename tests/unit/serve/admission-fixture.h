/*
 * One end of a connection on the made-up device that has a secret, and a peer, which the test
 * plays, that has one, too, or another one.
 */
#ifndef TESTS_UNIT_SERVE_ADMISSION_FIXTURE_H
#define TESTS_UNIT_SERVE_ADMISSION_FIXTURE_H

#include "exchange/internal.h"
#include "protocol/handshake.h"
#include "tests/unit/common/secret-fixture.h"
#include "tests/unit/exchange/fixture.h"

/* Whether a peer that has the region's key, or guesses it, gets at that region; at any. */
bool region_is_reachable(const struct region *region);
bool fixture_is_reachable(const struct fixture *fixture);

/* A passive end whose peer has these words; `peer` becomes its half of the handshake. */
void fixture_start_passive(
	struct fixture *fixture, struct handshake *peer, const struct secret *peers);

/*
 * An active end whose peer answers with these words, cut to so many bytes. Returns what
 * connection_established() says of them.
 */
int fixture_start_active(struct fixture *fixture, struct handshake *peer,
	const struct secret *peers, uint8_t length, struct failure *failure);

/* The peer's MSG_PROOF. */
struct message fixture_proof(const struct handshake *handshake);

#endif
