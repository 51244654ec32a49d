/*
 * A made-up host with two NUMA nodes, so that tests of the placement of threads and memory give the
 * same result on every host, even with one processor. Nothing is really bound or placed: the
 * fixture records the calls.
 *
 * It replaces host/locality.c, pthread_setaffinity_np(3), pthread_getaffinity_np(3) and
 * sched_getcpu(3). Only the tests that the Makefile lists are linked with it.
 */
#ifndef TESTS_UNIT_VERBS_LOCALITY_FIXTURE_H
#define TESTS_UNIT_VERBS_LOCALITY_FIXTURE_H

#include <sched.h>
#include <stdbool.h>

#include "host/locality.h"

/* The processors 0 to 3 are those of the first node, 4 to 7 those of the second. */
#define LOCALITY_PROCESSORS 8

/* Starts and stops recording. Devices that are opened meanwhile belong to the second node. */
void locality_fixture_start(void);
void locality_fixture_stop(void);

/* Returns the second node. */
struct locality locality_fixture_node(void);

/* Sets the processor on which all threads seem to run; -1: unknown. */
void locality_fixture_run_on(int processor);

/* The processors of the calling thread. */
cpu_set_t locality_fixture_own(void);

/* True if there is a thread with this name, and it has bound itself to the second node. */
bool locality_fixture_binds(const char *name);

/* True if the second node was requested for exactly this memory. */
bool locality_fixture_places(const void *start, size_t size);

#endif
