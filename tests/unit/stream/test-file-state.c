/* The state of a file that is read: each change is seen, even right after another one. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "stream/file-state.h"
#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)

/* Creates an unlinked temporary file with a byte. */
static int make_file(void)
{
	char path[] = "/tmp/test-file-state.XXXXXX";
	int file = mkostemp(path, O_CLOEXEC);

	assert_true(file >= 0);
	unlink(path);
	assert_int_equal(write(file, "x", 1), 1);
	return file;
}

static struct file_state state_of(int file)
{
	struct stat status;

	assert_int_equal(fstat(file, &status), 0);
	return file_state_of(&status);
}

static void sees_each_change(void **state)
{
	int file = make_file();
	struct file_state before;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		before = state_of(file);
		file_state_settle(&before, -1);
		assert_true(file_state_lasts(&before, file));
		assert_int_equal(pwrite(file, "y", 1, 0), 1);
		assert_false(file_state_lasts(&before, file));
	}
	before = state_of(file);
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(futimens(file, (struct timespec[]){before.modified, before.modified}), 0);
	assert_false(file_state_lasts(&before, file));
	close(file);
	assert_false(file_state_lasts(&before, -1));
}

/* Returns how long it takes to settle with this age of the file. */
static uint64_t settling(int64_t age_ms, bool coarse, int stop)
{
	struct file_state before = {0};
	uint64_t start = clock_now_ns();
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &before.modified);
	ns = before.modified.tv_nsec - age_ms * 1000000;
	before.modified.tv_sec += ns / 1000000000 - (ns < 0);
	before.modified.tv_nsec = coarse ? 0 : (ns % 1000000000 + 1000000000) % 1000000000 + 1;
	file_state_settle(&before, stop);
	return clock_now_ns() - start;
}

static void waits_only_after_a_recent_change(void **state)
{
	int pipes[2];

	(void)state;
	assert_true(settling(0, false, -1) >= 10 * MS);
	assert_true(settling(5000, false, -1) < 10 * MS);
	assert_true(settling(5000, true, -1) < 10 * MS);
	/* A time in the future is not waited for. */
	assert_true(settling(-5000, false, -1) < 10 * MS);
	/* The end of the transfer is not waited for, either. */
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	close(pipes[1]);
	assert_true(settling(0, true, pipes[0]) < 900 * MS);
	close(pipes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sees_each_change),
		cmocka_unit_test(waits_only_after_a_recent_change),
	};

	return cmocka_run_group_tests_name("file state", tests, NULL, NULL);
}
