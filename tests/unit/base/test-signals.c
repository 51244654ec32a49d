/* Signals as a descriptor. */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signals.h"
#include "tests/unit/unit.h"

/* In a process of its own: signals stay blocked. Returns 0 if all is as it should be. */
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
	/*
	 * Writing to a closed pipe, or beyond the limit of a file, must be an error, not the end.
	 */
	kill(getpid(), SIGPIPE);
	kill(getpid(), SIGXFSZ);
	return signals_read(descriptor);
}

static void signals_arrive_at_their_descriptor(void **state)
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
		cmocka_unit_test(signals_arrive_at_their_descriptor),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
