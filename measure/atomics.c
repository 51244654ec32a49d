/* Tests of atomic operations: see measure/atomics.h. */
#include <stdbool.h>
#include <string.h>

#include "measure/atomics.h"

static bool adds(const struct perf_test *test)
{
	return test->parameters.operation->number == TEST_FETCH_ADD;
}

/* True if this end takes tickets of a counter that other sessions take, too. */
static bool shares(const struct perf_test *test)
{
	return test->parameters.counter && !test->server;
}

void atomics_clear(struct perf_test *test)
{
	test->tickets = (struct tickets){0};
	if (test->share.counter)
		memset(test->share.region.start, 0, TEST_ATOMIC_SIZE);
	for (uint32_t i = 0; i < test->parameters.queue_pairs; i++)
		memset(test->control->offered.start + test->queue_pairs[i].offset, 0,
			TEST_ATOMIC_SIZE);
}

void atomics_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request)
{
	bool tickets = test_parameters_tickets(&test->parameters);
	const struct test_queue_pair *owner = tickets ? test->queue_pairs : queue_pair;
	uint64_t expected = tickets ? queue_pair->next_ticket : number;

	request->wr.atomic.remote_addr = test->control->peer_address + owner->offset;
	request->wr.atomic.rkey = test->control->peer_rkey;
	if (shares(test)) {
		request->wr.atomic.remote_addr = test->counter_address;
		request->wr.atomic.rkey = test->counter_rkey;
	}
	request->wr.atomic.compare_add = adds(test) ? 1 : expected;
	request->wr.atomic.swap = expected + 1;
}

/* A counter only grows, so each queue pair sees it grow. */
static void take_ticket(
	struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t fetched)
{
	bool taken = adds(test) || fetched == queue_pair->next_ticket;

	test->wrong += fetched < queue_pair->next_ticket;
	test->tickets.taken += taken;
	test->tickets.sum += taken ? fetched : 0;
	test->tickets.squares += taken ? fetched * fetched : 0;
	queue_pair->next_ticket = fetched + taken;
}

void atomics_check(struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t number)
{
	uint64_t fetched;

	memcpy(&fetched, test->control->private.start + perf_test_offset(test, queue_pair, number),
		sizeof(fetched));
	if (test_parameters_tickets(&test->parameters))
		take_ticket(test, queue_pair, fetched);
	else
		test->wrong += fetched != number;
}

bool atomics_are_complete(const struct tickets *tickets)
{
	uint64_t n = tickets->taken;
	/* Sums: n (n - 1) / 2 of the tickets, and that times (2n - 1) / 3 of their squares. */
	uint64_t factors[] = {n % 2 ? n : n / 2, n % 2 ? (n - 1) / 2 : n - 1, 2 * n - 1};
	uint64_t sum = factors[0] * factors[1];

	/* Before the remainder modulo 2^64 is taken, 3 divides one of them. */
	for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
		if (factors[i] % 3 == 0) {
			factors[i] /= 3;
			break;
		}
	return tickets->sum == sum && tickets->squares == factors[0] * factors[1] * factors[2];
}

void atomics_check_tickets(struct perf_test *test)
{
	/* A wrong number was counted already. */
	if (test_parameters_tickets(&test->parameters) && !shares(test) && test->wrong == 0)
		test->wrong = !atomics_are_complete(&test->tickets);
}
