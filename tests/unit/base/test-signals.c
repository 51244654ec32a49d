/* Tests reading signals from a signalfd. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
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

/* Runs this in a child process, and returns the status of waitpid(2). */
static int status_of(int (*run)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(run());
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void assert_exits(int status, int wanted)
{
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
}

static void assert_dies(int status, int signal)
{
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), signal);
}

static void reads_signals_from_the_descriptor(void **state)
{
	(void)state;
	assert_exits(status_of(read_signals), 0);
}

/* Ends as a program does that has read a signal. */
static int end_by_read_signal(int number)
{
	int descriptor = signals_open();

	kill(getpid(), number);
	return signals_read(descriptor) == number ? signals_end(number, 4) : 9;
}

static int end_by_interrupt(void)
{
	return end_by_read_signal(SIGINT);
}

static int end_by_termination(void)
{
	return end_by_read_signal(SIGTERM);
}

/* As in a background job of a shell without job control. */
static int end_by_ignored_interrupt(void)
{
	signal(SIGINT, SIG_IGN);
	return end_by_interrupt();
}

static void a_signal_that_was_read_ends_the_process(void **state)
{
	(void)state;
	assert_dies(status_of(end_by_interrupt), SIGINT);
	assert_dies(status_of(end_by_termination), SIGTERM);
	assert_dies(status_of(end_by_ignored_interrupt), SIGINT);
}

static int end_by_pending_signal(void)
{
	if (signals_open() < 0)
		return 9;
	kill(getpid(), SIGINT);
	return signals_end(0, 0);
}

static void a_signal_that_was_not_read_ends_the_process(void **state)
{
	(void)state;
	assert_dies(status_of(end_by_pending_signal), SIGINT);
}

static int end_without_signal(void)
{
	return signals_open() < 0 ? 9 : signals_end(0, 4);
}

static void without_a_signal_the_status_is_unchanged(void **state)
{
	(void)state;
	assert_exits(status_of(end_without_signal), 4);
}

/* Returns 77 if this kernel or container does not let the test create a PID namespace. */
static int be_process_1(void)
{
	int status;

	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		return 77;
	status = status_of(end_by_termination);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void process_1_reports_the_signal_as_a_shell_does(void **state)
{
	int status;

	(void)state;
	/*
	 * It kills itself by the signal that its program dies of, and waits for its end, but
	 * process 1 survives its own signals.
	 */
	if (getenv("EMULATOR")) {
		print_message("skipped: qemu-user as process 1 would wait forever\n");
		skip();
	}
	status = status_of(be_process_1);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_exits(status, 128 + SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_signals_from_the_descriptor),
		cmocka_unit_test(a_signal_that_was_read_ends_the_process),
		cmocka_unit_test(a_signal_that_was_not_read_ends_the_process),
		cmocka_unit_test(without_a_signal_the_status_is_unchanged),
		cmocka_unit_test(process_1_reports_the_signal_as_a_shell_does),
	};

	return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
