/* The thread that opens the input, with an input that opens only when the test lets it. */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve/opener.h"
#include "tests/unit/serve/slow-input.h"
#include "tests/unit/unit.h"

/* A thread that closes the input waits while `held`. The lock guards both. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, closing;
} slow_close = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Overrides the libc function. The input is the only character device. */
int close(int descriptor)
{
	struct stat status;

	if (fstat(descriptor, &status) == 0 && S_ISCHR(status.st_mode)) {
		assert_int_not_equal(gettid(), getpid());
		pthread_mutex_lock(&slow_close.lock);
		slow_close.closing = true;
		pthread_cond_broadcast(&slow_close.changed);
		while (slow_close.held)
			pthread_cond_wait(&slow_close.changed, &slow_close.lock);
		slow_close.closing = false;
		pthread_mutex_unlock(&slow_close.lock);
	}
	return (int)syscall(SYS_close, descriptor);
}

static void hold_close(bool held)
{
	pthread_mutex_lock(&slow_close.lock);
	slow_close.held = held;
	pthread_cond_broadcast(&slow_close.changed);
	pthread_mutex_unlock(&slow_close.lock);
}

static void await_close(void)
{
	pthread_mutex_lock(&slow_close.lock);
	while (!slow_close.closing)
		pthread_cond_wait(&slow_close.changed, &slow_close.lock);
	pthread_mutex_unlock(&slow_close.lock);
}

/* The settings, the main thread's queue, and requests whose owners are their numbers. */
struct fixture {
	struct wakeup_queue wakeups;
	struct exchange_settings settings;
	struct opener *opener;
	struct opening openings[3];
};

static int set_up(void **state)
{
	static const char *const inputs[] = {"/dev/null"};
	static struct fixture fixture;
	struct failure failure = {0};

	fixture = (struct fixture){0};
	fixture.settings = (struct exchange_settings){
		.wakeups = &fixture.wakeups,
		.input = inputs[0],
		.inputs = inputs,
		.input_count = 1,
	};
	assert_int_equal(wakeup_queue_open(&fixture.wakeups), 0);
	assert_int_equal(opener_start(&fixture.opener, &fixture.settings, &failure), 0);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	wakeup_queue_close(&fixture->wakeups);
	return 0;
}

static void open_all(struct fixture *fixture)
{
	for (size_t i = 0; i < COUNT(fixture->openings); i++)
		opener_open(fixture->opener, &fixture->openings[i], &fixture->openings[i]);
}

/* Waits for the next event. Returns the request that it is about. */
static struct opening *next_done(struct fixture *fixture)
{
	struct pollfd ready = {.fd = fixture->wakeups.eventfd, .events = POLLIN};
	struct wakeup *wakeup;
	unsigned int events;

	assert_int_equal(poll(&ready, 1, -1), 1);
	wakeup = wakeup_queue_take(&fixture->wakeups, &events);
	assert_non_null(wakeup);
	assert_int_equal(events, OPENING_DONE);
	return wakeup->about;
}

static bool has_events(struct fixture *fixture)
{
	unsigned int events;

	return wakeup_queue_take(&fixture->wakeups, &events);
}

static unsigned int threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;

	assert_non_null(tasks);
	while (readdir(tasks))
		count++;
	closedir(tasks);
	return count;
}

/* Stops the opener, and waits until its thread has ended even if it was abandoned. */
static void stop(struct fixture *fixture)
{
	unsigned int before = threads();

	opener_stop(fixture->opener);
	while (threads() == before)
		sched_yield();
}

static void requests_are_served_in_order(void **state)
{
	struct fixture *fixture = *state;

	open_all(fixture);
	for (size_t i = 0; i < COUNT(fixture->openings); i++) {
		struct opening *opening = &fixture->openings[i];

		slow_input_await();
		assert_false(has_events(fixture));
		slow_input_release(i == 1 ? ENOENT : 0);
		assert_ptr_equal(next_done(fixture), opening);
		assert_int_equal(failure_is_set(&opening->failure), i == 1);
		assert_int_equal(opening->source != NULL, i != 1);
		opener_close(fixture->opener, opening->source);
		opening->source = NULL;
	}
	stop(fixture);
}

/* One is being opened, one waits, and one is done but its event has not been taken. */
static void a_cancelled_request_gets_no_event(void **state)
{
	struct fixture *fixture = *state;
	struct opening *openings = fixture->openings;
	struct pollfd ready = {.fd = fixture->wakeups.eventfd, .events = POLLIN};

	open_all(fixture);
	slow_input_await();
	slow_input_release(0);
	assert_int_equal(poll(&ready, 1, -1), 1);
	slow_input_await();
	for (size_t i = 0; i < COUNT(fixture->openings); i++)
		opener_cancel(fixture->opener, &openings[i]);
	assert_false(has_events(fixture));
	slow_input_release(0);
	/* The thread goes on with the next request. */
	openings[2] = (struct opening){0};
	opener_open(fixture->opener, &openings[2], &openings[2]);
	slow_input_release(0);
	assert_ptr_equal(next_done(fixture), &openings[2]);
	/* Its source was not taken, so cancelling closes it. */
	opener_cancel(fixture->opener, &openings[2]);
	assert_false(has_events(fixture));
	stop(fixture);
}

/* close(2) of one waits for its file system, and another follows. One is taken, one is not. */
static void unused_inputs_are_closed_by_the_thread(void **state)
{
	struct fixture *fixture = *state;
	struct opening *openings = fixture->openings;
	unsigned int before = threads();

	open_all(fixture);
	for (size_t i = 0; i < COUNT(fixture->openings); i++) {
		slow_input_release(0);
		assert_ptr_equal(next_done(fixture), &openings[i]);
		assert_false(has_events(fixture));
	}
	hold_close(true);
	opener_close(fixture->opener, openings[0].source);
	openings[0].source = NULL;
	await_close();
	for (size_t i = 0; i < COUNT(fixture->openings); i++)
		opener_cancel(fixture->opener, &openings[i]);
	assert_null(openings[1].source);
	opener_stop(fixture->opener);
	assert_int_equal(threads(), before);
	hold_close(false);
	while (threads() == before)
		sched_yield();
}

/* A sanitizer reports the opener as leaked unless the thread frees it. */
static void a_thread_in_a_system_call_is_abandoned(void **state)
{
	struct fixture *fixture = *state;
	unsigned int before = threads();

	opener_open(fixture->opener, &fixture->openings[0], NULL);
	slow_input_await();
	opener_cancel(fixture->opener, &fixture->openings[0]);
	opener_stop(fixture->opener);
	assert_int_equal(slow_input_waiting(), 1);
	slow_input_release(0);
	while (threads() == before)
		sched_yield();
	assert_false(has_events(fixture));
}

static void without_an_opener_there_is_nothing_to_stop(void **state)
{
	struct fixture *fixture = *state;

	stop(fixture);
	opener_cancel(NULL, &fixture->openings[0]);
	opener_close(NULL, NULL);
	opener_stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(requests_are_served_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_cancelled_request_gets_no_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			unused_inputs_are_closed_by_the_thread, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_thread_in_a_system_call_is_abandoned, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_an_opener_there_is_nothing_to_stop, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("opener", tests, NULL, NULL);
}
