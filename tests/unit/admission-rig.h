/*
 * One end of a connection on the made-up device that has a secret, and a peer, which the test plays,
 * that has one, too, or another one.
 */
#ifndef ADMISSION_RIG_H
#define ADMISSION_RIG_H

#include "lib/handshake.h"
#include "rdma-internal.h"
#include "rig.h"
#include "secret-rig.h"

/* Whether a peer that has the region's key, or guesses it, gets at that region; at any. */
bool region_is_reachable(const struct region *region);
bool rig_is_reachable(const struct rig *rig);

/* A passive end whose peer has these words; `peer` becomes its half of the handshake. */
void rig_start_passive(struct rig *rig, struct handshake *peer, const struct secret *peers);

/*
 * An active end whose peer answers with these words, cut to so many bytes. Returns what
 * connection_established() says of them.
 */
int rig_start_active(struct rig *rig, struct handshake *peer, const struct secret *peers,
	uint8_t length, struct failure *failure);

/* The peer's MSG_PROOF. */
struct message rig_proof(const struct handshake *handshake);

#endif
