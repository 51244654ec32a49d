/* See tests/unit/serve/slow-input.h. The lock guards the counters. */
#include <errno.h>
#include <pthread.h>

#include "tests/unit/serve/slow-input.h"
#include "tests/unit/unit.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int waiting, released;
	int error;
} slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int settings_open_source(const struct exchange_settings *settings, struct source **source,
	enum phase phase, struct failure *failure)
{
	char why[WORKER_WHY_SIZE];
	int error;

	pthread_mutex_lock(&slow.lock);
	slow.waiting++;
	pthread_cond_broadcast(&slow.changed);
	while (slow.released == 0)
		pthread_cond_wait(&slow.changed, &slow.lock);
	slow.released--;
	slow.waiting--;
	error = slow.error;
	pthread_mutex_unlock(&slow.lock);
	if (error)
		return failure_set(failure, FAILURE_FILE, phase, error, "--input", "cannot read");
	return source_open(source, settings->message ? NULL : settings->input, settings->message,
		settings->message_size, why);
}

void slow_input_await(void)
{
	pthread_mutex_lock(&slow.lock);
	while (slow.waiting == 0)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
}

void slow_input_release(int error)
{
	pthread_mutex_lock(&slow.lock);
	slow.released++;
	slow.error = error;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
}

unsigned int slow_input_waiting(void)
{
	unsigned int waiting;

	pthread_mutex_lock(&slow.lock);
	waiting = slow.waiting;
	pthread_mutex_unlock(&slow.lock);
	return waiting;
}
