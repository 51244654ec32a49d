/*
 * Runs the threads of the verbs module as coroutines on one thread, so that runs are reproducible
 * and take microseconds. Each coroutine has its own stack and runs until it would block on a
 * descriptor or a condition; then another coroutine continues. The linker replaces the C library's
 * functions (ld(1), --wrap: the Makefile lists them).
 *
 * makecontext(3) and related functions are obsolescent in favour of threads, which they emulate.
 *
 * The clock is that of the fake device (tests/unit/verbs/fake-verbs.h) and advances only in
 * threads_pass().
 */
#ifndef TESTS_FUZZ_THREADS_H
#define TESTS_FUZZ_THREADS_H

#include <stdint.h>

/* Runs all threads until all of them wait. `first`, any number, selects the one that starts. */
void threads_settle(unsigned int first);

/* Advances the clock by this many milliseconds, and wakes each thread at its deadline. */
void threads_pass(int64_t milliseconds);

/* Returns the number of threads that have been started and not joined. */
unsigned int threads_alive(void);

#endif
