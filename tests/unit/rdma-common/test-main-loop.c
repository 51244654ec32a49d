/* Tests the main loop: its event sources, their order, and the events handled per turn. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "rdma-common.h"
#include "tests/unit/unit.h"

/*
 * What the loop has handled, in order, repeats omitted: 'e' event, 'w' wakeup, 's' signal, 'f'
 * failure.
 */
static struct seen {
	char order[1024];
	unsigned int events, wakeups;
	struct failure failure;
} seen;

/* Replaces librdmacm: returns pending events, or fails with the errno in `broken`. */
static unsigned int waiting_events, unacknowledged;
static int broken;

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	static struct rdma_cm_event next = {.event = RDMA_CM_EVENT_TIMEWAIT_EXIT};

	(void)channel;
	if (broken || waiting_events == 0) {
		errno = broken ? broken : EAGAIN;
		return -1;
	}
	waiting_events--;
	unacknowledged++;
	*event = &next;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	unacknowledged--;
	return 0;
}

static void record(char what)
{
	size_t length = strlen(seen.order);

	assert_true(length + 1 < sizeof(seen.order));
	if (length == 0 || seen.order[length - 1] != what)
		seen.order[length] = what;
}

static void take_event(void *user, const struct rdma_cm_event *event)
{
	assert_ptr_equal(user, &seen);
	assert_int_equal(event->event, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	assert_int_equal(unacknowledged, 0); /* so the handler can destroy its id */
	seen.events++;
	record('e');
}

/* Where each handled wakeup posts the next one; NULL: nowhere. */
static struct wakeup_queue *reposted;
static struct wakeup reposting = {.about = &seen.wakeups};

static void take_wakeup(void *user, const struct wakeup *wakeup, unsigned int events)
{
	assert_ptr_equal(user, &seen);
	assert_ptr_equal(wakeup->about, &seen.wakeups);
	assert_int_equal(events, 5);
	seen.wakeups++;
	record('w');
	if (reposted)
		wakeup_queue_post(reposted, &reposting, events);
}

static void take_signal(void *user)
{
	assert_ptr_equal(user, &seen);
	record('s');
}

static void take_failure(void *user, const struct failure *failure)
{
	assert_ptr_equal(user, &seen);
	seen.failure = *failure;
	record('f');
}

struct fixture {
	struct rdma_event_channel library;
	struct cm_channel channel;
	struct wakeup_queue wakeups;
	int signals[2]; /* a pipe in place of a signalfd */
	struct main_loop loop;
};

static void start(struct fixture *fixture)
{
	seen = (struct seen){0};
	waiting_events = unacknowledged = 0;
	broken = 0;
	reposted = NULL;
	assert_int_equal(wakeup_queue_open(&fixture->wakeups), 0);
	assert_int_equal(pipe(fixture->signals), 0);
	/* Always readable, usually with no event to get: the loop must not block on it. */
	fixture->library.fd = eventfd(1, EFD_CLOEXEC);
	fixture->channel =
		(struct cm_channel){.fd = fixture->library.fd, .rdmacm = &fixture->library};
	fixture->loop = (struct main_loop){
		.channel = &fixture->channel,
		.wakeups = &fixture->wakeups,
		.signals = fixture->signals[0],
		.user = &seen,
		.take_event = take_event,
		.take_wakeup = take_wakeup,
		.take_signal = take_signal,
		.take_failure = take_failure,
	};
}

static void stop(struct fixture *fixture)
{
	close(fixture->channel.fd);
	close(fixture->signals[0]);
	close(fixture->signals[1]);
	wakeup_queue_close(&fixture->wakeups);
}

static void send_signal(const struct fixture *fixture)
{
	const struct signalfd_siginfo signal = {.ssi_signo = SIGTERM};

	assert_int_equal(
		write(fixture->signals[1], &signal, sizeof(signal)), (ssize_t)sizeof(signal));
}

/* A turn handles wakeups and signals even if more events are pending than it handles. */
static void events_do_not_starve_the_rest(void **state)
{
	struct wakeup wakeup = {.about = &seen.wakeups};
	struct fixture fixture;

	(void)state;
	start(&fixture);
	waiting_events = 1000;
	wakeup_queue_post(&fixture.wakeups, &wakeup, 5);
	send_signal(&fixture);
	main_loop_turn(&fixture.loop, -1);
	assert_string_equal(seen.order, "wes");
	assert_int_equal(fixture.loop.signal, SIGTERM);
	assert_int_equal(seen.wakeups, 1);
	assert_in_range(seen.events, 1, 100);
	while (waiting_events > 0)
		main_loop_turn(&fixture.loop, -1);
	assert_int_equal(seen.events, 1000);
	assert_string_equal(seen.order, "wese");
	stop(&fixture);
}

/* Nor do wakeups that are posted whenever one is handled. */
static void wakeups_do_not_starve_the_rest(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture);
	waiting_events = 1;
	reposted = &fixture.wakeups;
	wakeup_queue_post(&fixture.wakeups, &reposting, 5);
	send_signal(&fixture);
	main_loop_turn(&fixture.loop, -1);
	assert_string_equal(seen.order, "wes");
	assert_in_range(seen.wakeups, 1, 2);
	main_loop_turn(&fixture.loop, -1);
	assert_string_equal(seen.order, "wesw");
	stop(&fixture);
}

static void returns_after_the_timeout(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture);
	main_loop_turn(&fixture.loop, 0);
	fixture.loop.channel = NULL;
	main_loop_turn(&fixture.loop, 1);
	assert_string_equal(seen.order, "");
	stop(&fixture);
}

static void a_broken_channel_is_reported_once(void **state)
{
	struct fixture fixture;

	(void)state;
	start(&fixture);
	broken = EBADF;
	main_loop_turn(&fixture.loop, -1);
	assert_null(fixture.loop.channel);
	assert_int_equal(seen.failure.code, EBADF);
	assert_string_equal(seen.failure.call, "rdma_get_cm_event");
	send_signal(&fixture);
	main_loop_turn(&fixture.loop, -1);
	assert_string_equal(seen.order, "fs");
	stop(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_do_not_starve_the_rest),
		cmocka_unit_test(wakeups_do_not_starve_the_rest),
		cmocka_unit_test(returns_after_the_timeout),
		cmocka_unit_test(a_broken_channel_is_reported_once),
	};

	return cmocka_run_group_tests_name("main loop", tests, NULL, NULL);
}
