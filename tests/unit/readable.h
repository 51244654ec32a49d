/* Checks whether memory is readable. */
#ifndef TESTS_UNIT_READABLE_H
#define TESTS_UNIT_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* Returns whether the byte is readable, without risking a fault. */
static inline bool is_there(const uint8_t *byte)
{
	int ends[2];
	bool there;

	assert_int_equal(pipe(ends), 0);
	there = write(ends[1], byte, 1) == 1;
	assert_true(there || errno == EFAULT);
	close(ends[0]);
	close(ends[1]);
	return there;
}

#endif
