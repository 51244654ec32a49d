/* Reads signals from a signalfd, which the caller owns. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "base/signals.h"

/* The signals that end a program. */
static const int handled[] = {SIGTERM, SIGINT};

#define HANDLED (sizeof(handled) / sizeof(handled[0]))

static sigset_t handled_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < HANDLED; i++)
		sigaddset(&set, handled[i]);
	return set;
}

int signals_open(void)
{
	const sigset_t signals = handled_set();
	int descriptor;

	/* A closed pipe or a file at its size limit causes a write error instead of a signal. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (pthread_sigmask(SIG_BLOCK, &signals, NULL))
		return -EINVAL;
	descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return descriptor < 0 ? -errno : descriptor;
}

int signals_read(int descriptor)
{
	struct signalfd_siginfo signal;

	return read(descriptor, &signal, sizeof(signal)) == sizeof(signal) ? (int)signal.ssi_signo
									   : 0;
}

/* AddressSanitizer checks at exit, which a process that ends by a signal does not reach. */
static void check_leaks(void)
{
#ifdef __SANITIZE_ADDRESS__
	__lsan_do_leak_check();
#endif
}

int signals_end(int read, int status)
{
	const sigset_t signals = handled_set();
	sigset_t pending;

	if (read)
		raise(read); /* blocked: it is pending from now on */
	sigpending(&pending);
	for (size_t i = 0; i < HANDLED; i++) {
		if (sigismember(&pending, handled[i]) != 1)
			continue;
		check_leaks();
		signal(handled[i], SIG_DFL); /* a background job may ignore SIGINT */
		status = 128 + handled[i];
	}
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	return status;
}
