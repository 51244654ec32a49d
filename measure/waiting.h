/*
 * How both ends of a measurement wait for completions with --poll auto. The choice is made once for
 * all message sizes. Pure functions, except waiting_processors(). Any thread.
 */
#ifndef MEASURE_WAITING_H
#define MEASURE_WAITING_H

#include "protocol/test-parameters.h"

/* Trials of a bandwidth test: pairs of one with each method, which must agree. */
#define WAITING_TRIALS 6

/* The processors that the calling thread may use; 0: unknown. sched_getaffinity(2). */
unsigned int waiting_processors(void);

/*
 * The method of a latency test: spinning, which a busy machine disturbs least, unless this process
 * has a single processor, on which a spinning program would keep the others from running.
 * Stores the reason in *why.
 */
enum test_wait waiting_of_latency(unsigned int processors, const char **why);

/* The method of a trial, from 0. The order changes, so that neither benefits from being second. */
enum test_wait waiting_of_trial(unsigned int trial);

/*
 * The method of a bandwidth test from the rates of the trials: the one that was faster in every
 * pair. If the pairs disagree, the difference is less than the noise: events, which leave the
 * processors to the rest of the system. Stores the reason in *why.
 */
enum test_wait waiting_of_bandwidth(const double rates[WAITING_TRIALS], const char **why);

#endif
