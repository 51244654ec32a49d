/* The hidden opened of a tree and its attempts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/hidden-file.h"
#include "stream/staging.h"
#include "tests/unit/stream/output-file-fixture.h"
#include "tests/unit/unit.h"

static int directory;

static int set_up(void **state)
{
	if (output_file_fixture_set_up(state))
		return -1;
	directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return directory < 0;
}

static int tear_down(void **state)
{
	close(directory);
	return output_file_fixture_tear_down(state);
}

/* Makes an attempt that stores a file of this name and its contents. */
static void attempt(struct staging *staging, bool resumes, const char *name, const char *contents)
{
	int opened = staging_open(staging, directory, "tree", resumes), file;

	assert_true(opened >= 0);
	assert_true(mkdirat(opened, "a", 0500) == 0 || errno == EEXIST);
	file = openat(opened, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	assert_int_equal(write(file, contents, strlen(contents)), strlen(contents));
	close(file);
	close(opened);
}

static off_t size_found(const struct staging *staging, const char *path)
{
	char name[FILE_NAME_MAX + 1];
	struct stat status;
	int opened = staging_find(staging, path, name, &status);

	if (opened < 0)
		return -1;
	close(opened);
	return status.st_size;
}

static void later_attempts_hide_earlier_ones(void **state)
{
	struct staging staging;

	(void)state;
	attempt(&staging, true, "one", "1");
	assert_int_equal(size_found(&staging, "one"), -1); /* not earlier */
	staging_close(&staging, STAGING_ALL);
	attempt(&staging, true, "two", "22");
	assert_int_equal(size_found(&staging, "one"), 1);
	staging_close(&staging, STAGING_ALL);
	attempt(&staging, true, "one", "333");
	staging_close(&staging, STAGING_ALL);
	attempt(&staging, true, "x", "");
	assert_int_equal(staging.count, 3);
	assert_int_equal(size_found(&staging, "one"), 3);
	assert_int_equal(size_found(&staging, "two"), 2);
	assert_int_equal(size_found(&staging, "a"), -1);
	assert_int_equal(size_found(&staging, "a/two"), -1);
	staging_close(&staging, STAGING_NOTHING);
	assert_int_equal(count_entries(NULL), 0);
}

static void the_oldest_attempts_are_merged(void **state)
{
	struct staging staging;
	char name[8];

	(void)state;
	for (int i = 0; i < STAGING_EARLIER + 4; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		attempt(&staging, true, name, name);
		staging_close(&staging, STAGING_ALL);
	}
	attempt(&staging, true, "last", "");
	assert_int_equal(staging.count, STAGING_EARLIER);
	assert_int_equal(size_found(&staging, "f0"), 2);
	assert_int_equal(size_found(&staging, "f3"), 2);
	assert_int_equal(size_found(&staging, "f4"), 2);
	assert_int_equal(size_found(&staging, name), 3);
	/* An attempt that stored nothing leaves nothing. */
	assert_true(staging_close(&staging, STAGING_EARLIER_ATTEMPTS));
	assert_int_equal(system("test $(ls .tree* | wc -l) -eq 8"), 0);
}

/* Another transfer at the same time, and one that does not resume. */
static void what_is_in_use_is_not_adopted(void **state)
{
	struct staging first, second;

	(void)state;
	attempt(&first, true, "one", "1");
	attempt(&second, true, "two", "2");
	assert_int_equal(second.count, 0);
	assert_string_not_equal(first.hidden, second.hidden);
	staging_close(&second, STAGING_NOTHING);
	staging_close(&first, STAGING_ALL);
	attempt(&first, false, "three", "3");
	assert_int_equal(first.count, 0);
	staging_close(&first, STAGING_NOTHING);
	assert_int_equal(count_entries(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(later_attempts_hide_earlier_ones),
		TEST(the_oldest_attempts_are_merged),
		TEST(what_is_in_use_is_not_adopted),
	};

	return cmocka_run_group_tests_name("staging", tests, NULL, NULL);
}
