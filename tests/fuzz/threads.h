/*
 * The threads of the verbs module, played by one, so that the same input does the same each time
 * and a run takes microseconds. Each has a stack of its own and runs until it would wait: for a
 * descriptor or a condition; then another goes on. The linker puts this in the place of the C
 * library's functions (ld(1), --wrap: the Makefile lists them).
 *
 * makecontext(3) and its like are obsolescent because there are threads, which they play here.
 *
 * The clock is the made-up device's (tests/unit/verbs/fake-verbs.h) and stands still, too.
 */
#ifndef TESTS_FUZZ_THREADS_H
#define TESTS_FUZZ_THREADS_H

#include <stdint.h>

/* Lets all run until each waits. `first` says which one begins: any number. */
void threads_settle(unsigned int first);

/* Lets so many milliseconds pass, and each thread wake when its time has come. */
void threads_pass(int64_t milliseconds);

/* How many were started and have not been joined. */
unsigned int threads_alive(void);

#endif
