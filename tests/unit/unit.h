/* What every unit test needs: cmocka, and the headers that must come before it. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Fails the test, naming the case of a table that does not hold. */
#define check_case(name, condition) \
	do { \
		if (!(condition)) \
			fail_msg("%s: %s does not hold", name, #condition); \
	} while (0)

#endif
