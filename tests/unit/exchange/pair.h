/* Both ends of a connection on one made-up device: what one sends arrives at the other. */
#ifndef TESTS_UNIT_EXCHANGE_PAIR_H
#define TESTS_UNIT_EXCHANGE_PAIR_H

#include "tests/unit/exchange/fixture.h"

/* The test sets the members of each fixture that fixture_start() reads, except the peer's. */
struct pair {
	struct fixture active, passive;
	unsigned int chance; /* the seed: in which order sends are carried out */
	size_t limit;        /* of registered memory, of each; 0: none */
};

/* Makes both connections, and gives each the other's private data and parameters. */
void pair_make(struct pair *pair);

/* Reports to both that the connection is established. Together with pair_make(): */
void pair_establish(struct pair *pair);
void pair_start(struct pair *pair);

/* Carries out sends, now of one end, now of the other, until neither has any. */
void pair_run(struct pair *pair);

/* The same for so many sends at most. Returns false when neither has any. */
bool pair_step(struct pair *pair, unsigned int sends);

/* The active end disconnects; both outcomes are known then. */
void pair_close(struct pair *pair);

/* Frees everything, and checks that nothing is left. */
void pair_stop(struct pair *pair);

/*
 * The next of some numbers that look like chance, of 15 bits, and are the same for the same seed.
 */
unsigned int pair_dice(unsigned int *seed);

/*
 * A file in memory with that many bytes, different ones for each seed, and the path under which it
 * can be opened. The digest of its bytes goes to *digest. The caller closes the descriptor.
 */
int pair_file(uint64_t size, unsigned int seed, char path[32], struct digest *digest);

#endif
