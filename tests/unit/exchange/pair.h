/* Both ends of a connection on one fake device: what one end sends, the other receives. */
#ifndef TESTS_UNIT_EXCHANGE_PAIR_H
#define TESTS_UNIT_EXCHANGE_PAIR_H

#include "tests/unit/exchange/fixture.h"

/* The test sets the members of each fixture that fixture_start() reads, except the peer's. */
struct pair {
	struct fixture active, passive;
	unsigned int chance; /* random seed for the order in which sends complete */
	size_t limit;        /* registered memory per end, bytes; 0: no limit */
};

/* Creates both connections and passes each end's private data and parameters to the other. */
void pair_make(struct pair *pair);

/* Reports both connections as established. pair_start() runs pair_make() and pair_establish(). */
void pair_establish(struct pair *pair);
void pair_start(struct pair *pair);

/* Executes sends of both ends in random order until neither has any left. */
void pair_run(struct pair *pair);

/* The same for at most this number of sends. Returns false when neither end has any left. */
bool pair_step(struct pair *pair, unsigned int sends);

/* Disconnects the active end. Both outcomes are then known. */
void pair_close(struct pair *pair);

/* Frees everything and checks for leaks. */
void pair_stop(struct pair *pair);

/* Returns the next 15-bit pseudo-random number. The seed determines the sequence. */
unsigned int pair_dice(unsigned int *seed);

/* Gives a file an old time: one that was written just now is not read at once. */
void pair_age(int file);

/* Creates a file in memory with size pseudo-random bytes. Stores a path that opens it in path and
 * the digest of its bytes in *digest. The caller closes the returned descriptor. */
int pair_file(uint64_t size, unsigned int seed, char path[32], struct digest *digest);

#endif
