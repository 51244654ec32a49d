/* Tests passing events between threads: none is lost or duplicated, and the receiver wakes up. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/wakeup-queue.h"
#include "tests/unit/unit.h"

#define POSTERS 2
#define WAKEUPS 100000

static int open_wakeup_queue(void **state)
{
	static struct wakeup_queue queue;

	*state = &queue;
	return wakeup_queue_open(&queue);
}

static int close_wakeup_queue(void **state)
{
	wakeup_queue_close(*state);
	return 0;
}

static bool is_readable(const struct wakeup_queue *queue)
{
	struct pollfd waiting = {.fd = queue->eventfd, .events = POLLIN};

	return poll(&waiting, 1, 0) == 1;
}

static void assert_empty(struct wakeup_queue *queue)
{
	unsigned int bits;

	assert_null(wakeup_queue_take(queue, &bits));
	assert_false(is_readable(queue));
}

static void starts_empty(void **state)
{
	assert_false(is_readable(*state));
	assert_empty(*state);
}

static void ors_the_bits_of_one_wakeup(void **state)
{
	struct wakeup_queue *queue = *state;
	struct wakeup wakeup = {0};
	unsigned int bits;

	wakeup_queue_post(queue, &wakeup, 1);
	wakeup_queue_post(queue, &wakeup, 4);
	wakeup_queue_post(queue, &wakeup, 1);
	assert_true(is_readable(queue));
	assert_ptr_equal(wakeup_queue_take(queue, &bits), &wakeup);
	assert_int_equal(bits, 5);
	assert_empty(queue);
	wakeup_queue_post(queue, &wakeup, 2);
	assert_true(is_readable(queue));
	assert_ptr_equal(wakeup_queue_take(queue, &bits), &wakeup);
	assert_int_equal(bits, 2);
	assert_empty(queue);
}

static void keeps_the_order_of_first_posts(void **state)
{
	struct wakeup_queue *queue = *state;
	struct wakeup wakeups[3] = {0};
	unsigned int bits;

	for (unsigned int i = 0; i < 3; i++)
		wakeup_queue_post(queue, &wakeups[i], 1U << i);
	wakeup_queue_post(queue, &wakeups[0], 8);
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(is_readable(queue));
		assert_ptr_equal(wakeup_queue_take(queue, &bits), &wakeups[i]);
		assert_int_equal(bits, i == 0 ? 9 : 1U << i);
	}
	assert_empty(queue);
}

static void withdraws_from_every_position(void **state)
{
	struct wakeup_queue *queue = *state;
	unsigned int bits;

	for (unsigned int withdrawn = 0; withdrawn < 3; withdrawn++) {
		struct wakeup wakeups[3] = {0};

		for (unsigned int i = 0; i < 3; i++)
			wakeup_queue_post(queue, &wakeups[i], 1);
		wakeup_queue_withdraw(queue, &wakeups[withdrawn]);
		wakeup_queue_withdraw(queue, &wakeups[withdrawn]);
		for (unsigned int i = 0; i < 3; i++)
			if (i != withdrawn)
				assert_ptr_equal(wakeup_queue_take(queue, &bits), &wakeups[i]);
		assert_empty(queue);
	}
}

static void discards_withdrawn_bits(void **state)
{
	struct wakeup_queue *queue = *state;
	struct wakeup wakeup = {0};
	unsigned int bits;

	wakeup_queue_withdraw(queue, &wakeup);
	wakeup_queue_post(queue, &wakeup, 1);
	wakeup_queue_withdraw(queue, &wakeup);
	wakeup_queue_post(queue, &wakeup, 2);
	assert_true(is_readable(queue));
	assert_ptr_equal(wakeup_queue_take(queue, &bits), &wakeup);
	assert_int_equal(bits, 2);
	assert_empty(queue);
}

/* A receiver that is still handling the bits that it has taken. */
struct receiver {
	struct wakeup_queue *queue;
	sem_t taken;
	bool done;
};

static void *receive_slowly(void *argument)
{
	struct receiver *receiver = argument;
	unsigned int bits;

	assert_non_null(wakeup_queue_take(receiver->queue, &bits));
	sem_post(&receiver->taken);
	for (unsigned int i = 0; i < 1000; i++)
		sched_yield();
	receiver->done = true;
	wakeup_queue_take(receiver->queue, &bits);
	return NULL;
}

/* Otherwise the receiver could use an object that the withdrawing thread has already freed. */
static void withdraw_waits_for_the_receiver(void **state)
{
	struct receiver receiver = {.queue = *state};
	struct wakeup wakeup = {0};
	pthread_t thread;

	sem_init(&receiver.taken, 0, 0);
	wakeup_queue_post(receiver.queue, &wakeup, 1);
	assert_int_equal(pthread_create(&thread, NULL, receive_slowly, &receiver), 0);
	while (sem_wait(&receiver.taken))
		; /* EINTR */
	wakeup_queue_withdraw(receiver.queue, &wakeup);
	assert_true(receiver.done);
	pthread_join(thread, NULL);
	sem_destroy(&receiver.taken);
}

/* A receiver that withdraws the wakeup it is handling must not wait for itself. */
static void the_receiver_withdraws_without_waiting(void **state)
{
	struct wakeup_queue *queue = *state;
	struct wakeup wakeup = {0};
	unsigned int bits;

	wakeup_queue_post(queue, &wakeup, 1);
	assert_ptr_equal(wakeup_queue_take(queue, &bits), &wakeup);
	wakeup_queue_withdraw(queue, &wakeup);
	assert_empty(queue);
}

static void closes_a_queue_that_was_never_opened(void **state)
{
	struct wakeup_queue queue = {.eventfd = -1};

	(void)state;
	wakeup_queue_close(&queue);
	assert_int_equal(wakeup_queue_open(&queue), 0);
	assert_true(queue.eventfd >= 0);
	wakeup_queue_close(&queue);
	assert_int_equal(queue.eventfd, -1);
	wakeup_queue_close(&queue);
}

/*
 * A poster passes one number at a time and waits until it is taken, so a lost event or wakeup
 * stalls the test. No lock protects `number`: taking the event must make it visible.
 */
struct poster {
	struct wakeup_queue *queue, taken;
	struct wakeup wakeup, reply;
	unsigned long number;
};

static void await(struct wakeup_queue *queue)
{
	struct pollfd waiting = {.fd = queue->eventfd, .events = POLLIN};

	if (poll(&waiting, 1, 60000) != 1)
		fail_msg("no event within a minute");
}

static void *post_numbers(void *argument)
{
	struct poster *poster = argument;
	unsigned int bits;

	for (unsigned long i = 1; i <= WAKEUPS / POSTERS; i++) {
		struct pollfd waiting = {.fd = poster->taken.eventfd, .events = POLLIN};

		poster->number = i;
		wakeup_queue_post(poster->queue, &poster->wakeup, 1);
		while (!wakeup_queue_take(&poster->taken, &bits))
			(void)poll(&waiting, 1, -1);
	}
	return NULL;
}

static void loses_no_wakeup_between_threads(void **state)
{
	struct poster posters[POSTERS] = {0};
	unsigned long expected[POSTERS] = {0};
	struct wakeup_queue *queue = *state;
	pthread_t threads[POSTERS];
	unsigned int bits;

	for (size_t i = 0; i < POSTERS; i++) {
		posters[i].queue = queue;
		posters[i].wakeup.about = &posters[i];
		assert_int_equal(wakeup_queue_open(&posters[i].taken), 0);
		assert_int_equal(pthread_create(&threads[i], NULL, post_numbers, &posters[i]), 0);
	}
	for (unsigned int left = WAKEUPS; left > 0;) {
		struct wakeup *wakeup = wakeup_queue_take(queue, &bits);
		struct poster *poster;

		if (!wakeup) {
			await(queue);
			continue;
		}
		poster = wakeup->about;
		assert_int_equal(poster->number, ++expected[poster - posters]);
		wakeup_queue_post(&poster->taken, &poster->reply, 1);
		left--;
	}
	for (size_t i = 0; i < POSTERS; i++) {
		pthread_join(threads[i], NULL);
		wakeup_queue_close(&posters[i].taken);
	}
	assert_empty(queue);
}

/* Posts without waiting. Bits may be ORed together, but each wakeup's last event must arrive. */
struct flood {
	struct wakeup_queue *queue;
	struct wakeup *wakeups;
	unsigned int bit;
};

#define FLOODED 1000

static void *flood(void *argument)
{
	struct flood *mine = argument;

	for (size_t i = 0; i < WAKEUPS / POSTERS; i++)
		wakeup_queue_post(mine->queue, &mine->wakeups[i % FLOODED], mine->bit);
	/* The last event of each wakeup. */
	for (size_t i = 0; i < FLOODED; i++)
		wakeup_queue_post(mine->queue, &mine->wakeups[i], mine->bit << 2);
	return NULL;
}

static void loses_no_bit_under_load(void **state)
{
	static struct wakeup wakeups[FLOODED];
	static unsigned int got[FLOODED];
	struct flood floods[POSTERS];
	struct wakeup_queue *queue = *state;
	pthread_t threads[POSTERS];
	unsigned int bits, complete = 0;

	for (unsigned int i = 0; i < POSTERS; i++) {
		floods[i] = (struct flood){queue, wakeups, 1U << i};
		assert_int_equal(pthread_create(&threads[i], NULL, flood, &floods[i]), 0);
	}
	while (complete < FLOODED) {
		struct wakeup *wakeup = wakeup_queue_take(queue, &bits);

		if (!wakeup) {
			await(queue);
			continue;
		}
		assert_int_not_equal(bits, 0);
		if (got[wakeup - wakeups] != 0xf && (got[wakeup - wakeups] | bits) == 0xf)
			complete++;
		got[wakeup - wakeups] |= bits;
	}
	for (size_t i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	assert_empty(queue);
}

#define with_wakeup_queue(test) \
	cmocka_unit_test_setup_teardown(test, open_wakeup_queue, close_wakeup_queue)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_wakeup_queue(starts_empty),
		with_wakeup_queue(ors_the_bits_of_one_wakeup),
		with_wakeup_queue(keeps_the_order_of_first_posts),
		with_wakeup_queue(withdraws_from_every_position),
		with_wakeup_queue(discards_withdrawn_bits),
		with_wakeup_queue(withdraw_waits_for_the_receiver),
		with_wakeup_queue(the_receiver_withdraws_without_waiting),
		cmocka_unit_test(closes_a_queue_that_was_never_opened),
		with_wakeup_queue(loses_no_wakeup_between_threads),
		with_wakeup_queue(loses_no_bit_under_load),
	};

	return cmocka_run_group_tests_name("wakeup-queue", tests, NULL, NULL);
}
