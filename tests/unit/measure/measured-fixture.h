/* A measured bandwidth in both directions, for tests of what is printed about it. */
#ifndef TESTS_UNIT_MEASURE_MEASURED_FIXTURE_H
#define TESTS_UNIT_MEASURE_MEASURED_FIXTURE_H

#include "measure/report.h"

/* 2 s: 1000 operations of 64 KiB to the peer, 500 back. */
static const struct measured bandwidth = {
	.threads = 3,
	.parameters = {.size = 65536, .queue_pairs = 2, .depth = 16, .wait = TEST_SPIN},
	.ours = {.operations = 1000,
		.bytes = 65536000,
		.nanoseconds = 2000000000,
		.cpu_nanoseconds = 655360000,
		.worst = 30000000,
		.best = 40000000},
	.theirs = {.operations = 500,
		.bytes = 32768000,
		.nanoseconds = 2000000000,
		.cpu_nanoseconds = 65536000,
		.best = 20000000,
		.wrong = 3},
};

#endif
