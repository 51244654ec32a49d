/* Standard input and output of a server that another program has started. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "serve/stdio.h"
#include "tests/unit/unit.h"

#define SECRET "0123456789abcdef"

/* Makes the text standard input, and closes the other end. */
static void provide(const char *text)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, strlen(text)), (int)strlen(text));
	close(ends[1]);
	assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
	close(ends[0]);
}

static void the_first_line_is_the_secret(void **state)
{
	struct failure failure = {0};
	struct secret *secret = NULL;
	char path[SECRET_PATH_SIZE], why[SECRET_WHY_SIZE], rest[8] = "";
	int file;

	(void)state;
	provide(SECRET "\nrest");
	file = stdio_take_secret(path, &failure);
	assert_true(file >= 0);
	assert_int_equal(secret_load(&secret, path, why), 0);
	assert_int_equal(close(file), 0);
	secret_free(secret);
	assert_int_equal(read(STDIN_FILENO, rest, sizeof(rest) - 1), 4);
	assert_string_equal(rest, "rest");
	assert_true(stdio_has_ended());
}

static void input_without_a_line_is_an_error(void **state)
{
	static char endless[SECRET_MAX + 100];
	const char *const inputs[] = {"", SECRET, endless};

	(void)state;
	memset(endless, 'x', sizeof(endless) - 1);
	for (size_t i = 0; i < COUNT(inputs); i++) {
		struct failure failure = {0};
		char path[SECRET_PATH_SIZE];

		provide(inputs[i]);
		assert_int_equal(stdio_take_secret(path, &failure), -1);
		assert_string_equal(failure.evidence, "standard input has no line with a secret");
	}
}

static void input_that_goes_on_has_not_ended(void **state)
{
	(void)state;
	provide("more");
	assert_false(stdio_has_ended());
	assert_true(stdio_has_ended());
}

/* Announces this list, and compares the line. */
static void check_line(const char *list, const char *line)
{
	char printed[200] = "";
	int before = dup(STDOUT_FILENO);
	FILE *file = tmpfile();

	assert_non_null(file);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	assert_int_equal(stdio_announce(7471, list), 0);
	dup2(before, STDOUT_FILENO);
	close(before);
	rewind(file);
	assert_non_null(fgets(printed, sizeof(printed), file));
	assert_string_equal(printed, line);
	assert_null(fgets(printed, sizeof(printed), file));
	fclose(file);
}

static void announces_port_and_addresses(void **state)
{
	(void)state;
	check_line("", "rdma-server listens: 7471\n");
	check_line("10.0.0.1 (rxe0, eth0)", "rdma-server listens: 7471 10.0.0.1\n");
	check_line("10.0.0.1 (rxe0, eth0), 192.168", "rdma-server listens: 7471 10.0.0.1\n");
	check_line("10.0.0.1 (mlx5_0, eth2), fd00::1 (rxe0, eth0.5)",
		"rdma-server listens: 7471 10.0.0.1 fd00::1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_line_is_the_secret),
		cmocka_unit_test(input_without_a_line_is_an_error),
		cmocka_unit_test(input_that_goes_on_has_not_ended),
		cmocka_unit_test(announces_port_and_addresses),
	};

	return cmocka_run_group_tests_name("stdio", tests, NULL, NULL);
}
