/* Notes from one thread to another: none lost, none doubled, and the receiver wakes up. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <unistd.h>

#include "lib/mailbox.h"
#include "unit.h"

#define POSTERS 2
#define NOTES   100000

static int open_mailbox(void **state)
{
	static struct mailbox mailbox;

	*state = &mailbox;
	return mailbox_open(&mailbox);
}

static int close_mailbox(void **state)
{
	mailbox_close(*state);
	return 0;
}

static bool is_readable(const struct mailbox *mailbox)
{
	struct pollfd waiting = {.fd = mailbox->eventfd, .events = POLLIN};

	return poll(&waiting, 1, 0) == 1;
}

static void assert_empty(struct mailbox *mailbox)
{
	unsigned int bits;

	assert_null(mailbox_take(mailbox, &bits));
	assert_false(is_readable(mailbox));
}

static void is_empty_at_first(void **state)
{
	assert_false(is_readable(*state));
	assert_empty(*state);
}

static void ors_the_bits_of_one_slip(void **state)
{
	struct mailbox *mailbox = *state;
	struct slip slip = {0};
	unsigned int bits;

	mailbox_post(mailbox, &slip, 1);
	mailbox_post(mailbox, &slip, 4);
	mailbox_post(mailbox, &slip, 1);
	assert_true(is_readable(mailbox));
	assert_ptr_equal(mailbox_take(mailbox, &bits), &slip);
	assert_int_equal(bits, 5);
	assert_empty(mailbox);
	mailbox_post(mailbox, &slip, 2);
	assert_true(is_readable(mailbox));
	assert_ptr_equal(mailbox_take(mailbox, &bits), &slip);
	assert_int_equal(bits, 2);
	assert_empty(mailbox);
}

static void keeps_the_order_of_first_posts(void **state)
{
	struct mailbox *mailbox = *state;
	struct slip slips[3] = {0};
	unsigned int bits;

	for (unsigned int i = 0; i < 3; i++)
		mailbox_post(mailbox, &slips[i], 1U << i);
	mailbox_post(mailbox, &slips[0], 8);
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(is_readable(mailbox));
		assert_ptr_equal(mailbox_take(mailbox, &bits), &slips[i]);
		assert_int_equal(bits, i == 0 ? 9 : 1U << i);
	}
	assert_empty(mailbox);
}

static void withdraws_from_every_place(void **state)
{
	struct mailbox *mailbox = *state;
	unsigned int bits;

	for (unsigned int withdrawn = 0; withdrawn < 3; withdrawn++) {
		struct slip slips[3] = {0};

		for (unsigned int i = 0; i < 3; i++)
			mailbox_post(mailbox, &slips[i], 1);
		mailbox_withdraw(mailbox, &slips[withdrawn]);
		mailbox_withdraw(mailbox, &slips[withdrawn]);
		for (unsigned int i = 0; i < 3; i++)
			if (i != withdrawn)
				assert_ptr_equal(mailbox_take(mailbox, &bits), &slips[i]);
		assert_empty(mailbox);
	}
}

static void forgets_the_bits_that_were_withdrawn(void **state)
{
	struct mailbox *mailbox = *state;
	struct slip slip = {0};
	unsigned int bits;

	mailbox_withdraw(mailbox, &slip);
	mailbox_post(mailbox, &slip, 1);
	mailbox_withdraw(mailbox, &slip);
	mailbox_post(mailbox, &slip, 2);
	assert_true(is_readable(mailbox));
	assert_ptr_equal(mailbox_take(mailbox, &bits), &slip);
	assert_int_equal(bits, 2);
	assert_empty(mailbox);
}

/* What a receiver has taken and looks at still. */
struct looking {
	struct mailbox *mailbox;
	sem_t taken;
	bool done;
};

static void *look_for_long(void *argument)
{
	struct looking *looking = argument;
	unsigned int bits;

	assert_non_null(mailbox_take(looking->mailbox, &bits));
	sem_post(&looking->taken);
	for (unsigned int i = 0; i < 1000; i++)
		sched_yield();
	looking->done = true;
	mailbox_take(looking->mailbox, &bits);
	return NULL;
}

/* Else it would look at what the withdrawer frees. */
static void withdrawing_waits_for_who_has_taken(void **state)
{
	struct looking looking = {.mailbox = *state};
	struct slip slip = {0};
	pthread_t thread;

	sem_init(&looking.taken, 0, 0);
	mailbox_post(looking.mailbox, &slip, 1);
	assert_int_equal(pthread_create(&thread, NULL, look_for_long, &looking), 0);
	while (sem_wait(&looking.taken))
		; /* EINTR */
	mailbox_withdraw(looking.mailbox, &slip);
	assert_true(looking.done);
	pthread_join(thread, NULL);
	sem_destroy(&looking.taken);
}

/* Who has taken it is done with it when it says so itself. */
static void the_receiver_withdraws_at_once(void **state)
{
	struct mailbox *mailbox = *state;
	struct slip slip = {0};
	unsigned int bits;

	mailbox_post(mailbox, &slip, 1);
	assert_ptr_equal(mailbox_take(mailbox, &bits), &slip);
	mailbox_withdraw(mailbox, &slip);
	assert_empty(mailbox);
}

static void closes_what_was_never_opened(void **state)
{
	struct mailbox mailbox = {.eventfd = -1};

	(void)state;
	mailbox_close(&mailbox);
	assert_int_equal(mailbox_open(&mailbox), 0);
	assert_true(mailbox.eventfd >= 0);
	mailbox_close(&mailbox);
	assert_int_equal(mailbox.eventfd, -1);
	mailbox_close(&mailbox);
}

/*
 * A poster hands over one number at a time and waits until it is taken, so a lost note or a lost
 * wake-up ends in silence. `number` has no lock: what it holds must be visible with the note.
 */
struct poster {
	struct mailbox *mailbox, taken;
	struct slip slip, answer;
	unsigned long number;
};

static void await(struct mailbox *mailbox)
{
	struct pollfd waiting = {.fd = mailbox->eventfd, .events = POLLIN};

	if (poll(&waiting, 1, 60000) != 1)
		fail_msg("no note within a minute");
}

static void *post_numbers(void *argument)
{
	struct poster *poster = argument;
	unsigned int bits;

	for (unsigned long i = 1; i <= NOTES / POSTERS; i++) {
		struct pollfd waiting = {.fd = poster->taken.eventfd, .events = POLLIN};

		poster->number = i;
		mailbox_post(poster->mailbox, &poster->slip, 1);
		while (!mailbox_take(&poster->taken, &bits))
			(void)poll(&waiting, 1, -1);
	}
	return NULL;
}

static void loses_no_note_between_threads(void **state)
{
	struct poster posters[POSTERS] = {0};
	unsigned long expected[POSTERS] = {0};
	struct mailbox *mailbox = *state;
	pthread_t threads[POSTERS];
	unsigned int bits;

	for (size_t i = 0; i < POSTERS; i++) {
		posters[i].mailbox = mailbox;
		posters[i].slip.about = &posters[i];
		assert_int_equal(mailbox_open(&posters[i].taken), 0);
		assert_int_equal(pthread_create(&threads[i], NULL, post_numbers, &posters[i]), 0);
	}
	for (unsigned int left = NOTES; left > 0;) {
		struct slip *slip = mailbox_take(mailbox, &bits);
		struct poster *poster;

		if (!slip) {
			await(mailbox);
			continue;
		}
		poster = slip->about;
		assert_int_equal(poster->number, ++expected[poster - posters]);
		mailbox_post(&poster->taken, &poster->answer, 1);
		left--;
	}
	for (size_t i = 0; i < POSTERS; i++) {
		pthread_join(threads[i], NULL);
		mailbox_close(&posters[i].taken);
	}
	assert_empty(mailbox);
}

/* Without waiting: bits may be or-ed together, but every slip's last one arrives. */
struct flood {
	struct mailbox *mailbox;
	struct slip *slips;
	unsigned int bit;
};

#define FLOODED 1000

static void *flood(void *argument)
{
	struct flood *mine = argument;

	for (size_t i = 0; i < NOTES / POSTERS; i++)
		mailbox_post(mine->mailbox, &mine->slips[i % FLOODED], mine->bit);
	/* The last word about each slip. */
	for (size_t i = 0; i < FLOODED; i++)
		mailbox_post(mine->mailbox, &mine->slips[i], mine->bit << 2);
	return NULL;
}

static void loses_no_bit_in_a_flood(void **state)
{
	static struct slip slips[FLOODED];
	static unsigned int got[FLOODED];
	struct flood floods[POSTERS];
	struct mailbox *mailbox = *state;
	pthread_t threads[POSTERS];
	unsigned int bits, complete = 0;

	for (unsigned int i = 0; i < POSTERS; i++) {
		floods[i] = (struct flood){mailbox, slips, 1U << i};
		assert_int_equal(pthread_create(&threads[i], NULL, flood, &floods[i]), 0);
	}
	while (complete < FLOODED) {
		struct slip *slip = mailbox_take(mailbox, &bits);

		if (!slip) {
			await(mailbox);
			continue;
		}
		assert_int_not_equal(bits, 0);
		if (got[slip - slips] != 0xf && (got[slip - slips] | bits) == 0xf)
			complete++;
		got[slip - slips] |= bits;
	}
	for (size_t i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	assert_empty(mailbox);
}

#define with_mailbox(test) cmocka_unit_test_setup_teardown(test, open_mailbox, close_mailbox)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_mailbox(is_empty_at_first),
		with_mailbox(ors_the_bits_of_one_slip),
		with_mailbox(keeps_the_order_of_first_posts),
		with_mailbox(withdraws_from_every_place),
		with_mailbox(forgets_the_bits_that_were_withdrawn),
		with_mailbox(withdrawing_waits_for_who_has_taken),
		with_mailbox(the_receiver_withdraws_at_once),
		cmocka_unit_test(closes_what_was_never_opened),
		with_mailbox(loses_no_note_between_threads),
		with_mailbox(loses_no_bit_in_a_flood),
	};

	return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
