/* Output files for a peer's data. Each test runs in its own temporary folder. */
#ifndef TESTS_UNIT_STREAM_OUTPUT_FILE_FIXTURE_H
#define TESTS_UNIT_STREAM_OUTPUT_FILE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/file-name.h"
#include "stream/output-file.h"

/* The last error message, and the path of the folder. */
extern char why[OUTPUT_FILE_WHY_SIZE];
extern char folder[];

/* cmocka fixtures: create an empty folder, enter it and set umask 022; remove the folder. */
int output_file_fixture_set_up(void **state);
int output_file_fixture_tear_down(void **state);

#define OUTPUT_FILE_TEST(function) \
	cmocka_unit_test_setup_teardown( \
		function, output_file_fixture_set_up, output_file_fixture_tear_down)

/* Opens an output for which the peer offers this name. The fallback name is "10.0.0.1-45678". */
int open_named(
	struct output_file **file, const char *output, bool force, const char *name, size_t size);

/* The same, with the name "offered". */
int open_output(struct output_file **file, const char *output, bool force);

/* Opens, writes, commits and closes. Returns the first error. */
int receive(const char *output, bool force, const char *data);

/* Runs a shell command, which must succeed. */
void sh(const char *command);

/* Creates a file directly, without struct output_file. */
void put(const char *path, const char *data);

void assert_contents(const char *path, const char *wanted);

/*
 * Counts the entries of the folder. Copies the name of the last hidden one to hidden, unless NULL.
 */
size_t count_entries(char hidden[FILE_NAME_MAX + 1]);

#endif
