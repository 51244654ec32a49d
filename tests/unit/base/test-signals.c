/* Tests reading signals from a signalfd. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "tests/unit/unit.h"

/* Runs in a child process because the signals stay blocked. Returns 0 on success. */
static int read_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM};
	int descriptor = signals_open();
	struct pollfd waiting = {.fd = descriptor, .events = POLLIN};

	if (descriptor < 0 || signals_read(descriptor) != 0)
		return 1;
	for (size_t i = 0; i < COUNT(signals); i++) {
		kill(getpid(), signals[i]);
		if (poll(&waiting, 1, 1000) != 1 || signals_read(descriptor) != signals[i])
			return 2;
	}
	/* A write to a closed pipe or beyond RLIMIT_FSIZE must fail, not kill the process. */
	kill(getpid(), SIGPIPE);
	kill(getpid(), SIGXFSZ);
	return signals_read(descriptor);
}

static void reads_signals_from_the_descriptor(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(read_signals());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_signals_from_the_descriptor),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
