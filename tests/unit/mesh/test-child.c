/* Programs that an agent runs: their output, their end, and what they inherit. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mesh/child.h"
#include "tests/unit/unit.h"

/* True if the process exists and is no zombie, which the init of a container may leave. */
static bool is_alive(pid_t process)
{
	char path[64], state = 'Z';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
	file = fopen(path, "r");
	if (file) {
		assert_int_equal(fscanf(file, "%*d %*s %c", &state), 1);
		fclose(file);
	}
	return state != 'Z';
}

/* Runs commands of a shell until they have ended. */
static void run(struct child *child, const char *commands, int pass)
{
	const char *words[] = {"sh", "-c", commands, NULL};

	assert_int_equal(child_start(child, words, false, true, pass), 0);
	while (!child_check(child)) {
		struct pollfd polled[2];
		int milliseconds = 1000;
		size_t count = child_poll(child, polled, &milliseconds);

		poll(polled, count, milliseconds);
	}
	assert_false(child_check(child));
}

static void test_output(void **state)
{
	struct child child;

	(void)state;
	run(&child, "echo out; echo wrong >&2; cat; exit 3", -1);
	assert_string_equal(child.text, "out\n");
	assert_string_equal(child.error_text, "wrong\n");
	assert_int_equal(child.status, 3);
	child_free(&child);
	run(&child, "kill -KILL $$", -1);
	assert_int_equal(child.status, 128 + SIGKILL);
	child_free(&child);
}

/* What exceeds the limits is read, so that the program ends, and dropped. */
static void test_much(void **state)
{
	struct child child;

	(void)state;
	run(&child, "head -c 1000000 /dev/zero | tr '\\0' x; head -c 100000 /dev/zero >&2", -1);
	assert_int_equal(child.status, 0);
	assert_int_equal(child.text_used, CHILD_TEXT_MAX);
	assert_int_equal(strlen(child.text), CHILD_TEXT_MAX);
	assert_int_equal(child.error_used, CHILD_ERRORS_MAX - 1);
	child_free(&child);
}

static void test_missing(void **state)
{
	const char *words[] = {"/none/such", NULL};
	struct child child;

	(void)state;
	assert_int_equal(child_start(&child, words, true, true, -1), -ENOENT);
	assert_false(child_runs(&child));
	child_free(&child);
}

/* It gets the passed file, and no other descriptor. */
static void test_passed(void **state)
{
	int file = memfd_create("passed", MFD_CLOEXEC);
	struct child child;

	(void)state;
	assert_int_equal(write(file, "secret", 6), 6);
	run(&child, "cat " CHILD_PASSED_PATH "; ls /proc/$$/fd; :", file);
	assert_string_equal(child.text, "secret0\n1\n2\n3\n");
	child_free(&child);
	run(&child, "ls /proc/$$/fd; :", -1);
	assert_string_equal(child.text, "0\n1\n2\n");
	child_free(&child);
	close(file);
}

/* The signals that this program blocks end the child, and all that it has started. */
static void test_end(void **state)
{
	const char *words[] = {"sh", "-c", "sleep 100 & echo $!; wait", NULL};
	struct child child;
	pid_t grandchild;
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(child_start(&child, words, true, true, -1), 0);
	while (child.text_used == 0)
		child_check(&child);
	assert_int_equal(sscanf(child.text, "%d", &grandchild), 1);
	child_free(&child);
	for (int i = 0; i < 1000 && is_alive(grandchild); i++)
		poll(NULL, 0, 1);
	assert_false(is_alive(grandchild));
}

/* One that ignores SIGTERM is killed. */
static void test_stubborn(void **state)
{
	const char *words[] = {"sh", "-c", "trap '' TERM; echo x; while :; do sleep 1; done", NULL};
	struct child child;
	deadline_t deadline = deadline_in(5000);

	(void)state;
	assert_int_equal(child_start(&child, words, false, true, -1), 0);
	while (child.text_used == 0)
		child_check(&child);
	child_free(&child);
	assert_false(child_runs(&child));
	assert_true(deadline_left(deadline) > 0);
}

/* It ends with the process that started it. */
static void test_orphan(void **state)
{
	const char *words[] = {"sleep", "100", NULL};
	int ends[2];
	pid_t middle, orphan;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	middle = fork();
	if (middle == 0) {
		struct child child;

		if (child_start(&child, words, false, false, -1) ||
			write(ends[1], &child.process, sizeof(child.process)) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(ends[0], &orphan, sizeof(orphan)), (ssize_t)sizeof(orphan));
	waitpid(middle, NULL, 0);
	for (int i = 0; i < 3000 && is_alive(orphan); i++)
		poll(NULL, 0, 1);
	assert_false(is_alive(orphan));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_much),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_passed),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_stubborn),
		cmocka_unit_test(test_orphan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
