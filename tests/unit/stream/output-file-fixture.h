/* Outputs of a peer's data, each test's in a folder of its own, which is also where it runs. */
#ifndef TESTS_UNIT_STREAM_OUTPUT_FILE_FIXTURE_H
#define TESTS_UNIT_STREAM_OUTPUT_FILE_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "stream/file-name.h"
#include "stream/output-file.h"

/* The last sentence, and the path of the folder. */
extern char why[OUTPUT_FILE_WHY_SIZE];
extern char folder[];

/* cmocka's fixtures: an empty folder and umask 022; and the folder removed. */
int output_file_fixture_set_up(void **state);
int output_file_fixture_tear_down(void **state);

#define OUTPUT_FILE_TEST(function) \
	cmocka_unit_test_setup_teardown( \
		function, output_file_fixture_set_up, output_file_fixture_tear_down)

/* Opens an output to which the peer gives that name; its fallback is "10.0.0.1-45678". */
int open_named(
	struct output_file **file, const char *output, bool force, const char *name, size_t size);

/* The same with the name "offered". */
int open_output(struct output_file **file, const char *output, bool force);

/* Opens, writes, commits and closes. Returns the first error. */
int receive(const char *output, bool force, const char *data);

/* Makes a file that is not ours. */
void put(const char *path, const char *data);

void assert_contents(const char *path, const char *wanted);

/* Counts what is in the folder. The name of the last hidden file goes into hidden, or NULL. */
size_t count_entries(char hidden[FILE_NAME_MAX + 1]);

#endif
