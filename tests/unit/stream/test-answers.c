/* What the receiver of a tree answers: order, limits, and how answers are found. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "host/memory-budget.h"
#include "stream/answers.h"
#include "tests/unit/unit.h"

static struct answers *answers;

static int set_up(void **state)
{
	(void)state;
	answers = answers_new();
	return answers ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	answers_free(answers);
	return 0;
}

static int ask(const char *path, uint64_t size, uint64_t storage)
{
	const struct asked_file file = {.size = size, .storage = storage};

	return answers_ask(answers, path, &file);
}

/* Takes an answer whose digest consists of this byte. */
static int take(uint64_t number, uint64_t size, uint8_t byte)
{
	struct tree_answer answer = {.number = number, .size = size};
	uint8_t bytes[TREE_ANSWER_SIZE];

	memset(answer.digest.bytes, byte, DIGEST_SIZE);
	tree_answer_encode(&answer, bytes);
	return answers_take(answers, bytes, sizeof(bytes));
}

static void answers_are_found_by_path(void **state)
{
	const struct tree_answer *found;
	struct asked_file asked;
	uint64_t bytes, storage;
	char path[32];

	(void)state;
	assert_null(answers_find(answers, "a/0", &asked));
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "a/%d", (int)i);
		assert_int_equal(ask(path, 100 + i, 4096), 0);
	}
	for (uint64_t i = 0; i < 1000; i += 3)
		assert_int_equal(take(i, i % 2 ? 100 + i : 1, (uint8_t)i), 0);
	answers_end(answers);
	assert_int_equal(answers_await(answers), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), "a/%d", (int)i);
		found = answers_find(answers, path, &asked);
		assert_int_equal(found != NULL, i % 3 == 0);
		if (!found)
			continue;
		assert_int_equal(found->number, i);
		assert_int_equal(asked.size, 100 + i);
		assert_int_equal(found->size, i % 2 ? 100 + i : 1);
		assert_int_equal(found->digest.bytes[7], (uint8_t)i);
	}
	assert_null(answers_find(answers, "b/0", &asked));
	answers_sum(answers, &bytes, &storage);
	assert_int_equal(bytes, 167 + 167 * 100 + 83667);
	assert_int_equal(storage, 167 + 167 * 4096);
}

/* They arrive in pieces of any size. */
static void answers_may_be_cut(void **state)
{
	const struct tree_answer answer = {.number = 0, .size = 5};
	uint8_t bytes[TREE_ANSWER_SIZE];
	struct asked_file asked;

	(void)state;
	assert_int_equal(ask("a", 5, 0), 0);
	tree_answer_encode(&answer, bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(answers_take(answers, bytes + i, 1), 0);
	answers_end(answers);
	assert_non_null(answers_find(answers, "a", &asked));
}

static void wrong_answers_are_refused(void **state)
{
	(void)state;
	assert_int_equal(take(0, 1, 0), -EPROTO); /* nobody asked */
	assert_int_equal(ask("a", 5, 0), 0);
	assert_int_equal(ask("b", 5, 0), 0);
	assert_int_equal(take(2, 1, 0), -EPROTO);
	assert_int_equal(take(0, 0, 0), -EPROTO);
	assert_int_equal(take(0, 6, 0), -EPROTO);
	assert_int_equal(take(UINT64_MAX, 1, 0), -EPROTO);
	assert_int_equal(take(1, 5, 0), 0);
	assert_int_equal(take(1, 5, 0), -EPROTO); /* twice */
	assert_int_equal(take(0, 5, 0), -EPROTO); /* too late */
}

/* An answer by time is for the whole file, if the sender wants such answers. */
static void answers_may_be_by_time(void **state)
{
	const struct asked_file file = {.size = 5, .by_time = true, .modified = {7, 8}};
	struct tree_answer answer = {.number = 0, .size = 5, .by_time = true};
	const struct tree_answer *found;
	uint8_t bytes[TREE_ANSWER_SIZE];
	struct asked_file asked;

	(void)state;
	assert_int_equal(ask("a", 5, 0), 0);
	assert_int_equal(answers_ask(answers, "b", &file), 0);
	tree_answer_encode(&answer, bytes);
	assert_int_equal(answers_take(answers, bytes, sizeof(bytes)), -EPROTO); /* not wanted */
	answer = (struct tree_answer){.number = 1, .size = 4, .by_time = true};
	tree_answer_encode(&answer, bytes);
	assert_int_equal(answers_take(answers, bytes, sizeof(bytes)), -EPROTO); /* not all */
	answer.size = 5;
	tree_answer_encode(&answer, bytes);
	assert_int_equal(answers_take(answers, bytes, sizeof(bytes)), 0);
	answers_end(answers);
	assert_null(answers_find(answers, "a", &asked));
	found = answers_find(answers, "b", &asked);
	assert_non_null(found);
	assert_true(found->by_time);
	assert_int_equal(found->number, 1);
	assert_int_equal(asked.modified.tv_sec, 7);
	assert_int_equal(asked.modified.tv_nsec, 8);
}

/* As two of which the hashes are equal. */
static void ambiguous_answers_are_not_used(void **state)
{
	struct asked_file asked;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(ask(i < 2 ? "a" : "b", 5, 0), 0);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(take(i, 5, 0), 0);
	answers_end(answers);
	assert_null(answers_find(answers, "a", &asked));
	assert_non_null(answers_find(answers, "b", &asked));
}

static void memory_is_limited(void **state)
{
	struct memory_budget budget;
	unsigned int asked = 0;

	(void)state;
	memory_budget_start(100000);
	while (asked < 100000 && ask("a", 5, 0) == 0)
		asked++;
	assert_in_range(asked, 1000, 4200);
	memory_budget_read(&budget);
	assert_in_range(budget.used, 20000, 100000);
	answers_free(answers);
	answers = NULL;
	memory_budget_read(&budget);
	assert_int_equal(budget.used, 0);
	memory_budget_start(0);
}

static void *stop(void *argument)
{
	answers_stop(argument);
	return NULL;
}

static void a_wait_can_be_stopped(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, stop, answers), 0);
	assert_int_equal(answers_await(answers), -ECANCELED);
	pthread_join(thread, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_are_found_by_path),
		TEST(answers_may_be_cut),
		TEST(wrong_answers_are_refused),
		TEST(a_wait_can_be_stopped),
		TEST(answers_may_be_by_time),
		TEST(ambiguous_answers_are_not_used),
		TEST(memory_is_limited),
	};

	return cmocka_run_group_tests_name("answers", tests, NULL, NULL);
}
