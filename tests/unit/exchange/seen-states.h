/*
 * The states that a walk through a model has reached, so that it enters each once. A state is a
 * struct without padding, or whose padding is always zero. One set in a process.
 */
#ifndef TESTS_UNIT_EXCHANGE_SEEN_STATES_H
#define TESTS_UNIT_EXCHANGE_SEEN_STATES_H

#include <stdbool.h>
#include <stddef.h>

void seen_clear(void);

/* Adds the state. Returns false if it was there before; fails the test if the set is full. */
bool seen_add(const void *state, size_t size);

size_t seen_count(void);

#endif
