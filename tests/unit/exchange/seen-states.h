/* The set of states that the exploration of a model has reached, so that it visits each once. A
 * state is a struct without padding or with zeroed padding. There is one set per process. */
#ifndef TESTS_UNIT_EXCHANGE_SEEN_STATES_H
#define TESTS_UNIT_EXCHANGE_SEEN_STATES_H

#include <stdbool.h>
#include <stddef.h>

void seen_clear(void);

/* Adds the state. Returns false if it was already present. Fails the test if the set is full. */
bool seen_add(const void *state, size_t size);

size_t seen_count(void);

#endif
