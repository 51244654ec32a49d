/*
 * See serve/opener.h. The lock guards the opener and its requests; it is never held during a system
 * call on the input. While the thread opens the input, it accesses only the opener and its own
 * variables, because the request may be cancelled and freed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "serve/opener.h"
#include "verbs/resource-limit.h"

/* cppcheck-suppress unusedStructMember ; the macros of sys/queue.h use them */
TAILQ_HEAD(opening_queue, opening);

struct opener {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct opening_queue waiting;
	struct opening *current; /* being opened; NULL: none, or it was cancelled */
	struct source *unused;   /* to be closed */
	bool busy;               /* the thread may be in a system call */
	bool stopping;
	bool abandoned; /* stopped while not idle: the thread frees the opener */
	struct exchange_settings settings;
	const char *texts[]; /* the inputs, then the patterns of what to exclude */
};

static void free_opener(struct opener *opener)
{
	pthread_cond_destroy(&opener->changed);
	pthread_mutex_destroy(&opener->lock);
	free(opener);
}

/* Closes all unused sources. Called and returns with the lock. */
static void close_unused(struct opener *opener)
{
	struct source *source;

	while ((source = opener->unused)) {
		opener->unused = source_next(source);
		opener->busy = true;
		pthread_mutex_unlock(&opener->lock);
		source_close(source);
		pthread_mutex_lock(&opener->lock);
	}
	opener->busy = false;
}

/*
 * Closes unused sources until there is a request, and makes that the current one. Returns false if
 * the thread must end.
 */
static bool begin_next(struct opener *opener)
{
	struct opening *opening;

	pthread_mutex_lock(&opener->lock);
	close_unused(opener);
	while (!opener->stopping && TAILQ_EMPTY(&opener->waiting)) {
		pthread_cond_wait(&opener->changed, &opener->lock);
		close_unused(opener);
	}
	opening = opener->stopping ? NULL : TAILQ_FIRST(&opener->waiting);
	if (opening) {
		TAILQ_REMOVE(&opener->waiting, opening, next);
		opening->waiting = false;
		opener->busy = true;
	}
	opener->current = opening;
	pthread_mutex_unlock(&opener->lock);
	return opening;
}

/* Passes the result to the client. Returns false if the request was cancelled. */
static bool deliver(struct opener *opener, struct source *source, const struct failure *failure)
{
	struct opening *opening;

	pthread_mutex_lock(&opener->lock);
	opening = opener->current;
	opener->current = NULL;
	if (opening) {
		opening->source = source;
		opening->failure = *failure;
		wakeup_queue_post(opener->settings.wakeups, &opening->wakeup, OPENING_DONE);
	}
	pthread_mutex_unlock(&opener->lock);
	return opening;
}

static void *open_inputs(void *argument)
{
	struct opener *opener = argument;

	while (begin_next(opener)) {
		struct source *source = NULL;
		struct failure failure = {0};

		settings_open_source(&opener->settings, &source, PHASE_EXCHANGE, &failure);
		if (!deliver(opener, source, &failure))
			source_close(source);
	}
	if (opener->abandoned)
		free_opener(opener);
	return NULL;
}

int opener_start(
	struct opener **result, const struct exchange_settings *settings, struct failure *failure)
{
	size_t inputs = settings->input_count, excluded = settings->excluded_count;
	struct opener *opener =
		calloc(1, sizeof(*opener) + (inputs + excluded) * sizeof(opener->texts[0]));
	char reason[256];
	int error;

	if (!opener)
		return failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
	pthread_mutex_init(&opener->lock, NULL);
	pthread_cond_init(&opener->changed, NULL);
	TAILQ_INIT(&opener->waiting);
	opener->settings = *settings;
	for (size_t i = 0; i < inputs + excluded; i++)
		opener->texts[i] =
			i < inputs ? settings->inputs[i] : settings->excluded[i - inputs];
	opener->settings.inputs = opener->texts;
	opener->settings.excluded = opener->texts + inputs;
	error = pthread_create(&opener->thread, NULL, open_inputs, opener);
	if (error) {
		free_opener(opener);
		resource_limit_of_threads(error, reason, sizeof(reason));
		return failure_set(failure, FAILURE_ERRNO, PHASE_MEMORY, error, "pthread_create",
			"cannot start a thread: %s", reason);
	}
	pthread_setname_np(opener->thread, "opener");
	*result = opener;
	return 0;
}

void opener_open(struct opener *opener, struct opening *opening, void *about)
{
	opening->wakeup.about = about;
	pthread_mutex_lock(&opener->lock);
	opening->waiting = true;
	TAILQ_INSERT_TAIL(&opener->waiting, opening, next);
	pthread_cond_signal(&opener->changed);
	pthread_mutex_unlock(&opener->lock);
}

void opener_cancel(struct opener *opener, struct opening *opening)
{
	if (!opener)
		return;
	pthread_mutex_lock(&opener->lock);
	if (opening->waiting)
		TAILQ_REMOVE(&opener->waiting, opening, next);
	else if (opener->current == opening)
		opener->current = NULL;
	opening->waiting = false;
	pthread_mutex_unlock(&opener->lock);
	wakeup_queue_withdraw(opener->settings.wakeups, &opening->wakeup);
	opener_close(opener, opening->source);
	opening->source = NULL;
}

void opener_close(struct opener *opener, struct source *source)
{
	if (!source)
		return;
	pthread_mutex_lock(&opener->lock);
	source_set_next(source, opener->unused);
	opener->unused = source;
	pthread_cond_signal(&opener->changed);
	pthread_mutex_unlock(&opener->lock);
}

void opener_stop(struct opener *opener)
{
	bool abandoned;

	if (!opener)
		return;
	pthread_mutex_lock(&opener->lock);
	opener->stopping = true;
	opener->abandoned = abandoned = opener->busy || opener->unused;
	if (abandoned)
		pthread_detach(opener->thread);
	pthread_cond_signal(&opener->changed);
	pthread_mutex_unlock(&opener->lock);
	if (abandoned)
		return;
	pthread_join(opener->thread, NULL);
	free_opener(opener);
}
