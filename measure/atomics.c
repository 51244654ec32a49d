/* Tests of atomic operations: see measure/atomics.h. */
#include <stdbool.h>
#include <string.h>

#include "measure/atomics.h"

static bool adds(const struct perf_test *test)
{
	return test->parameters.operation->number == TEST_FETCH_ADD;
}

/* True if the queue pairs share a counter. A client of an earlier release wants more depth. */
static bool has_tickets(const struct perf_test *test)
{
	const struct test_parameters *parameters = &test->parameters;

	return parameters->verify && parameters->kind == TEST_BANDWIDTH &&
	       (adds(test) || parameters->depth == 1);
}

void atomics_clear(struct perf_test *test)
{
	test->tickets = test->ticket_sum = 0;
	for (uint32_t i = 0; i < test->parameters.queue_pairs; i++)
		memset(test->control->offered.start + test->queue_pairs[i].offset, 0,
			TEST_ATOMIC_SIZE);
}

void atomics_describe(const struct perf_test *test, const struct test_queue_pair *queue_pair,
	uint64_t number, struct ibv_send_wr *request)
{
	const struct test_queue_pair *owner = has_tickets(test) ? test->queue_pairs : queue_pair;
	uint64_t expected = has_tickets(test) ? queue_pair->next_ticket : number;

	request->wr.atomic.remote_addr = test->control->peer_address + owner->offset;
	request->wr.atomic.rkey = test->control->peer_rkey;
	request->wr.atomic.compare_add = adds(test) ? 1 : expected;
	request->wr.atomic.swap = expected + 1;
}

/* Mixes the bits of a ticket, so that no other tickets are likely to have the same sum. */
static uint64_t mixed(uint64_t ticket)
{
	ticket = (ticket ^ ticket >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return (ticket ^ ticket >> 29) * UINT64_C(0xd6e8feb86659fd93);
}

/* A counter only grows, so each queue pair sees it grow. */
static void take_ticket(
	struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t fetched)
{
	bool taken = adds(test) || fetched == queue_pair->next_ticket;

	test->wrong += fetched < queue_pair->next_ticket;
	test->tickets += taken;
	test->ticket_sum += taken ? mixed(fetched) : 0;
	queue_pair->next_ticket = fetched + taken;
}

void atomics_check(struct perf_test *test, struct test_queue_pair *queue_pair, uint64_t number)
{
	uint64_t fetched;

	memcpy(&fetched, test->control->private.start + perf_test_offset(test, queue_pair, number),
		sizeof(fetched));
	if (has_tickets(test))
		take_ticket(test, queue_pair, fetched);
	else
		test->wrong += fetched != number;
}

void atomics_check_tickets(struct perf_test *test)
{
	uint64_t sum = 0;

	if (!has_tickets(test))
		return;
	for (uint64_t ticket = 0; ticket < test->tickets; ticket++)
		sum += mixed(ticket);
	/* A wrong number was counted already. */
	test->wrong += sum != test->ticket_sum && test->wrong == 0;
}
