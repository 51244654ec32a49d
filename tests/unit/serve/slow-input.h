/*
 * A slow input: replaces settings_open_source(), which then waits like a system call on a file
 * system that does not respond, until the test releases it.
 */
#ifndef TESTS_UNIT_SERVE_SLOW_INPUT_H
#define TESTS_UNIT_SERVE_SLOW_INPUT_H

#include "exchange/settings.h"

/* Waits until a thread opens the input. */
void slow_input_await(void);

/* Lets one call return. With an error, it fails. */
void slow_input_release(int error);

/* Returns the number of calls that have not returned. */
unsigned int slow_input_waiting(void);

#endif
