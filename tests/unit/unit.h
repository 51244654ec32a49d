/* Included by every unit test: cmocka, and the headers that must precede it. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fails the test if the condition is false, naming the table entry and the condition. */
#define check_case(name, condition) \
	do { \
		if (!(condition)) \
			fail_msg("%s: %s is false", name, #condition); \
	} while (0)

#endif
