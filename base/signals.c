/* Reads signals from a signalfd, which the caller owns. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/signals.h"

int signals_open(void)
{
	sigset_t signals;
	int descriptor;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
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
