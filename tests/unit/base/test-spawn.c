/* Starting another program, with its standard input, output and error. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "tests/unit/unit.h"

/* Runs the shell commands with `given` as input, and returns their exit status. */
static int run(const char *commands, const char *given, char output[100], bool errors)
{
	char *const words[] = {(char *)"sh", (char *)"-c", (char *)commands, NULL};
	int to[2], from[2], status;
	ssize_t size;
	pid_t child;

	assert_true(pipe(to) == 0 && pipe(from) == 0);
	assert_int_equal(write(to[1], given, strlen(given)), (int)strlen(given));
	close(to[1]);
	assert_int_equal(spawn_program(&child, words, to[0], from[1], errors), 0);
	close(to[0]);
	close(from[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	size = read(from[0], output, 99);
	assert_true(size >= 0);
	output[size] = '\0';
	close(from[0]);
	return WEXITSTATUS(status);
}

static void a_program_has_the_descriptors(void **state)
{
	char output[100];

	(void)state;
	assert_int_equal(run("read line; echo \"got $line\"; exit 3", "text\n", output, true), 3);
	assert_string_equal(output, "got text\n");
	run("readlink /proc/self/fd/2", "", output, false);
	assert_string_equal(output, "/dev/null\n");
	run("readlink /proc/self/fd/2", "", output, true);
	assert_string_not_equal(output, "/dev/null\n");
}

static void a_missing_program_is_an_error(void **state)
{
	char *const words[] = {(char *)"/no/such/program", NULL};
	pid_t child;

	(void)state;
	assert_int_equal(spawn_program(&child, words, STDIN_FILENO, STDOUT_FILENO, true), ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_the_descriptors),
		cmocka_unit_test(a_missing_program_is_an_error),
	};

	return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
