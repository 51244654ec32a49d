/* The endpoint on the fake device: numbering, signaling and counting of work requests, the
 * accounting of completion batches, and draining. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake-verbs.h"
#include "verbs/endpoint.h"
#include "verbs/memory.h"

#define SENDS     16
#define RECEIVES  4
#define SLOT_SIZE 64UL

/* An arbitrary kind of work request. */
#define KIND 5

struct end {
	struct rdma_cm_id *id;
	struct device device;
	struct endpoint endpoint;
	struct queue_pair *pair;
	struct region region;
};

static void open_end_of(struct end *end, enum ibv_transport_type transport, uint32_t vendor)
{
	const struct queue_size size = {.sends = SENDS, .receives = RECEIVES};
	struct failure failure = {0};

	*end = (struct end){0};
	fake_start(transport);
	fake_attributes()->vendor_id = vendor;
	end->id = fake_id();
	assert_int_equal(device_open(&end->device, fake_context(), &failure), 0);
	assert_int_equal(
		endpoint_open(&end->endpoint, end->id, &end->device, &size, 1, &failure), 0);
	assert_int_equal(region_create(&end->region, &end->device, end->endpoint.pd,
				 SLOT_SIZE * RECEIVES, IBV_ACCESS_LOCAL_WRITE, &failure),
		0);
	end->pair = end->endpoint.pairs;
	queue_pair_set_slots(end->pair, (struct slot_area){.start = end->region.start,
						.slot_size = SLOT_SIZE,
						.key = end->region.mr->lkey});
}

static void open_end(struct end *end)
{
	open_end_of(end, IBV_TRANSPORT_IB, FAKE_SOFT_VENDOR);
}

static void close_end(struct end *end)
{
	endpoint_close_queues(&end->endpoint);
	region_free(&end->region);
	endpoint_close(&end->endpoint);
	rdma_destroy_id(end->id);
	device_close(&end->device);
	assert_int_equal(fake_objects(), 0);
}

/*
 * By default, the inline data is halved until the device accepts it; if it was asked for, it is the
 * most that the device has.
 */
static void inline_data_is_what_the_device_has(void **state)
{
	static const struct {
		uint32_t limit, wanted;
		bool exact;
		uint32_t got;
	} cases[] = {
		{1000, 256, false, 256},
		{100, 256, false, 64},
		{0, 256, false, 0},
		{1000, 1000, true, 1000},
		{512, 1000, true, 512},
		{101, 1024, true, 101},
		{0, 1024, true, 0},
		{1, 2, true, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct queue_size size = {.sends = SENDS,
			.receives = RECEIVES,
			.inline_max = cases[i].wanted,
			.inline_exact = cases[i].exact};
		struct failure failure = {0};
		struct end end = {0};

		fake_start(IBV_TRANSPORT_IB);
		fake_limit_inline(cases[i].limit);
		end.id = fake_id();
		assert_int_equal(device_open(&end.device, fake_context(), &failure), 0);
		assert_int_equal(
			endpoint_open(&end.endpoint, end.id, &end.device, &size, 1, &failure), 0);
		assert_int_equal(end.endpoint.pairs->size.inline_max, cases[i].got);
		close_end(&end);
	}
}

/* Posts `count` empty messages as one list. Returns 0 or -errno. */
static int post(struct end *end, unsigned int count, unsigned int flags)
{
	struct ibv_send_wr requests[SENDS] = {0};

	for (unsigned int i = 0; i < count; i++) {
		requests[i].opcode = IBV_WR_SEND;
		requests[i].send_flags = flags;
		requests[i].next = i + 1 < count ? &requests[i + 1] : NULL;
	}
	return queue_pair_post(end->pair, KIND, requests);
}

static void complete(struct end *end, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		fake_complete(end->id, IBV_WC_SUCCESS);
}

/* Returns the numbers of the signaled sends as a bit mask. */
static unsigned int signaled(struct end *end)
{
	unsigned int numbers = 0;

	for (unsigned int i = 0; i < fake_sends(end->id); i++)
		if (fake_send(end->id, i).flags & IBV_SEND_SIGNALED)
			numbers |= 1U << i;
	return numbers;
}

/* Otherwise the send queue would never drain. Sends signaled by the caller count as well. */
static void a_send_in_each_quarter_is_signaled(void **state)
{
	struct end end;

	(void)state;
	open_end(&end);
	assert_int_equal(post(&end, 8, 0), 0);
	assert_int_equal(signaled(&end), 0x88);
	assert_int_equal(post(&end, 1, IBV_SEND_SIGNALED), 0);
	assert_int_equal(post(&end, 4, 0), 0);
	assert_int_equal(signaled(&end), 0x1188);
	close_end(&end);
}

/* Polls the completions of these sends, in this order, and returns how many are delivered. */
static unsigned int delivered(struct end *end, unsigned int count, const uint64_t *numbers)
{
	struct completion_batch batch = {.count = (int)count};
	struct completion completion;
	unsigned int deliveries = 0;

	for (unsigned int i = 0; i < count; i++)
		batch.wcs[i].wr_id = numbers[i] << 16 | KIND;
	for (; endpoint_next_completion(&end->endpoint, &batch, &completion); deliveries++) {
		assert_int_equal(completion.sends, 1);
		assert_int_equal(completion.number, end->pair->sends_completed - 1);
	}
	return deliveries;
}

/* Otherwise a completion could account for an earlier READ that is still in progress. */
static void completions_that_overtake_others_are_held(void **state)
{
	struct completion_batch batch;
	struct end end;

	(void)state;
	open_end_of(&end, IBV_TRANSPORT_IWARP, FAKE_SIW_VENDOR);
	for (uint64_t first = 0; first < 3UL * 6; first += 6) {
		const uint64_t overtaking[] = {first + 2, first + 1};
		const uint64_t mixed[] = {first + 4, first + 3, first, first + 5};

		assert_int_equal(post(&end, 6, 0), 0);
		assert_int_equal(delivered(&end, 2, overtaking), 0);
		assert_true(queue_pair_is_unacknowledged(end.pair));
		assert_int_equal(delivered(&end, 4, mixed), 6);
		assert_false(queue_pair_is_unacknowledged(end.pair));
		complete(&end, 6);
		assert_int_equal(endpoint_poll(&end.endpoint, &batch), 6);
	}
	assert_int_equal(signaled(&end), (1 << 3 * 6) - 1);
	close_end(&end);
}

/* Software iWARP reports a send that is cut off as a local error; others mean it. */
static void a_send_that_is_cut_off_is_flushed(void **state)
{
	static const struct {
		enum ibv_transport_type transport;
		uint32_t vendor;
		enum ibv_wc_status status;
	} cases[] = {
		{IBV_TRANSPORT_IWARP, FAKE_SIW_VENDOR, IBV_WC_WR_FLUSH_ERR},
		{IBV_TRANSPORT_IWARP, FAKE_SOFT_VENDOR, IBV_WC_LOC_QP_OP_ERR},
		{IBV_TRANSPORT_IB, FAKE_SOFT_VENDOR, IBV_WC_LOC_QP_OP_ERR},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct completion_batch batch;
		struct completion completion;
		struct end end;

		open_end_of(&end, cases[i].transport, cases[i].vendor);
		assert_int_equal(post(&end, 1, 0), 0);
		fake_complete(end.id, IBV_WC_LOC_QP_OP_ERR);
		assert_int_equal(endpoint_poll(&end.endpoint, &batch), 1);
		assert_true(endpoint_next_completion(&end.endpoint, &batch, &completion));
		assert_int_equal(completion.wc->status, cases[i].status);
		close_end(&end);
	}
}

/* A completion accounts for all sends before it, but only once it is taken from the batch. */
static void a_batch_accounts_for_taken_completions(void **state)
{
	struct completion_batch batch;
	struct completion completion;
	struct end end;

	(void)state;
	open_end(&end);
	assert_int_equal(post(&end, 8, 0), 0);
	assert_int_equal(queue_pair_capacity(end.pair, 2), SENDS - 8 - 2);
	assert_int_equal(queue_pair_capacity(end.pair, SENDS), 0);
	assert_true(queue_pair_is_unacknowledged(end.pair));
	complete(&end, 8);
	assert_int_equal(endpoint_poll(&end.endpoint, &batch), 2);
	assert_int_equal(queue_pair_capacity(end.pair, 0), SENDS - 8);
	for (unsigned int i = 1; i <= 2; i++) {
		assert_true(endpoint_next_completion(&end.endpoint, &batch, &completion));
		assert_ptr_equal(completion.pair, end.pair);
		assert_int_equal(completion.kind, KIND);
		assert_int_equal(completion.number, 4 * i - 1);
		assert_int_equal(completion.sends, 4);
		assert_int_equal(queue_pair_capacity(end.pair, 0), SENDS - 8 + 4 * i);
	}
	assert_false(endpoint_next_completion(&end.endpoint, &batch, &completion));
	assert_false(queue_pair_is_unacknowledged(end.pair));
	assert_int_equal(endpoint_poll(&end.endpoint, &batch), 0);
	assert_false(endpoint_next_completion(&end.endpoint, &batch, &completion));
	close_end(&end);
}

/* If the device accepts only part of a list, that part is numbered and counted. */
static void a_list_may_be_posted_in_part(void **state)
{
	struct end end;

	(void)state;
	open_end(&end);
	fake_fail("ibv_post_send", 5, ENOMEM);
	assert_int_equal(post(&end, 8, 0), -ENOMEM);
	assert_int_equal(end.pair->sends_posted, 5);
	assert_int_equal(end.pair->last_signaled, 4);
	assert_int_equal(post(&end, 3, 0), 0);
	assert_int_equal(signaled(&end), 0x88);
	close_end(&end);
}

/* Both kinds of posts return -EINVAL if the device fails them with this error. */
static void expect_invalid(struct end *end, int error)
{
	fake_fail("ibv_post_send", 0, error);
	assert_int_equal(post(end, 1, 0), -EINVAL);
	fake_fail("ibv_post_recv", 0, error);
	assert_int_equal(queue_pair_post_receive(end->pair, 0), -EINVAL);
}

/* libsiw returns a negative errno instead of a positive one, or -1 and sets errno. */
static void post_errors_of_either_sign_are_returned_negative(void **state)
{
	struct end end;

	(void)state;
	open_end(&end);
	expect_invalid(&end, EINVAL);
	expect_invalid(&end, -EINVAL);
	fake_posts_set_errno();
	expect_invalid(&end, EINVAL);
	assert_int_equal(end.pair->sends_posted, 0);
	assert_int_equal(end.pair->receives_posted, 0);
	close_end(&end);
}

static void receives_land_in_their_slots(void **state)
{
	struct completion_batch batch;
	struct completion completion;
	struct end end;

	(void)state;
	open_end(&end);
	assert_int_equal(queue_pair_post_receives(end.pair, end.pair->size.receives), 0);
	assert_int_equal(end.pair->receives_posted, RECEIVES);
	fake_arrive(end.id, "first", 5);
	fake_arrive(end.id, "second", 6);
	assert_int_equal(endpoint_poll(&end.endpoint, &batch), 2);
	assert_true(endpoint_next_completion(&end.endpoint, &batch, &completion));
	assert_int_equal(completion.kind, ENDPOINT_RECEIVE);
	assert_int_equal(completion.number, 0);
	assert_int_equal(completion.sends, 0);
	assert_memory_equal(completion.data, "first", 5);
	assert_true(endpoint_next_completion(&end.endpoint, &batch, &completion));
	assert_ptr_equal(completion.data, end.region.start + SLOT_SIZE);
	assert_int_equal(completion.wc->byte_len, 6);
	assert_int_equal(end.pair->receives_posted, RECEIVES - 2);
	assert_int_equal(queue_pair_post_receive(end.pair, completion.number), 0);
	fake_fail("ibv_post_recv", 0, ENOMEM);
	assert_int_equal(queue_pair_post_receive(end.pair, 0), -ENOMEM);
	assert_int_equal(end.pair->receives_posted, RECEIVES - 1);
	close_end(&end);
}

static void a_broken_queue_returns_no_completions(void **state)
{
	struct completion_batch batch;
	struct completion completion;
	struct end end;

	(void)state;
	open_end(&end);
	fake_fail("ibv_poll_cq", 0, EIO);
	assert_int_equal(endpoint_poll(&end.endpoint, &batch), -EIO);
	assert_false(endpoint_next_completion(&end.endpoint, &batch, &completion));
	close_end(&end);
}

static void an_endpoint_uses_the_next_completion_vector(void **state)
{
	struct end end;

	(void)state;
	open_end(&end);
	assert_int_equal(fake_vector(end.id), end.endpoint.vector);
	assert_int_equal(device_next_vector(&end.device), (end.endpoint.vector + 1) % FAKE_VECTORS);
	close_end(&end);
}

/* The lower two bits of the traffic class do not belong to it. */
static void the_dscp_is_that_of_the_path(void **state)
{
	struct end end;

	(void)state;
	open_end(&end);
	assert_int_equal(endpoint_dscp(&end.endpoint), 0);
	fake_set_traffic_class(26 << 2 | 2);
	assert_int_equal(endpoint_dscp(&end.endpoint), 26);
	close_end(&end);
	open_end_of(&end, IBV_TRANSPORT_IWARP, FAKE_SOFT_VENDOR);
	assert_int_equal(endpoint_dscp(&end.endpoint), -1);
	close_end(&end);
}

/* The two statuses that may mean that the peer's process has exited and freed its memory. */
static void refusals_are_recognised(void **state)
{
	static const struct {
		enum ibv_wc_status status;
		unsigned int kind;
		bool refusal;
	} cases[] = {
		{IBV_WC_REM_ACCESS_ERR, KIND, true},
		{IBV_WC_REM_OP_ERR, KIND, true},
		{IBV_WC_REM_INV_REQ_ERR, KIND, false},
		{IBV_WC_RETRY_EXC_ERR, KIND, false},
		{IBV_WC_WR_FLUSH_ERR, KIND, false},
		{IBV_WC_SUCCESS, KIND, false},
		{IBV_WC_REM_ACCESS_ERR, ENDPOINT_RECEIVE, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ibv_wc wc = {.status = cases[i].status};
		struct completion completion = {.wc = &wc, .kind = cases[i].kind};

		assert_int_equal(completion_is_refusal(&completion), cases[i].refusal);
	}
}

/* Successful unsignaled sends are accounted for by the endpoint's own drain work request. The event
 * of an armed queue is awaited. */
static void an_endpoint_is_drained_when_everything_has_completed(void **state)
{
	struct completion_batch batch;
	struct completion completion;
	struct end end;
	int error;

	(void)state;
	open_end(&end);
	assert_int_equal(queue_pair_post_receives(end.pair, end.pair->size.receives), 0);
	assert_int_equal(post(&end, 2, 0), 0);
	complete(&end, 2);
	assert_int_equal(endpoint_poll(&end.endpoint, &batch), 0);
	assert_int_equal(endpoint_arm(&end.endpoint), 0);
	assert_true(endpoint_is_outstanding(&end.endpoint));
	endpoint_flush(&end.endpoint);
	for (unsigned int polls = 0; !endpoint_is_drained(&end.endpoint); polls++) {
		assert_true(polls < 8);
		endpoint_take_event(end.device.channel, &error);
		endpoint_poll(&end.endpoint, &batch);
		while (endpoint_next_completion(&end.endpoint, &batch, &completion))
			assert_true(completion.wc->status == IBV_WC_WR_FLUSH_ERR);
	}
	assert_false(endpoint_is_outstanding(&end.endpoint));
	assert_false(end.endpoint.armed);
	close_end(&end);
}

/* Only soft-RoCE is drained: on other devices, destroying the queues is enough. */
static void other_devices_need_no_draining(void **state)
{
	static const struct device_traits other = {.transport = IBV_TRANSPORT_IB};
	struct end end;

	(void)state;
	open_end(&end);
	end.endpoint.traits = &other;
	assert_int_equal(queue_pair_post_receives(end.pair, end.pair->size.receives), 0);
	assert_int_equal(post(&end, 2, 0), 0);
	assert_int_equal(endpoint_arm(&end.endpoint), 0);
	endpoint_flush(&end.endpoint);
	assert_true(endpoint_is_drained(&end.endpoint));
	assert_false(endpoint_is_outstanding(&end.endpoint));
	close_end(&end);
}

/* The event of an abandoned endpoint is acknowledged but not returned. */
static void events_name_their_endpoint(void **state)
{
	struct end end;
	int error;

	(void)state;
	for (unsigned int abandoned = 0; abandoned < 2; abandoned++) {
		open_end(&end);
		assert_null(endpoint_take_event(end.device.channel, &error));
		assert_int_equal(error, 0);
		assert_int_equal(queue_pair_post_receives(end.pair, end.pair->size.receives), 0);
		assert_int_equal(endpoint_arm(&end.endpoint), 0);
		assert_true(end.endpoint.armed);
		fake_arrive(end.id, "message", 7);
		end.endpoint.abandoned = abandoned;
		assert_ptr_equal(endpoint_take_event(end.device.channel, &error),
			abandoned ? NULL : &end.endpoint);
		assert_int_equal(error, 0);
		assert_int_equal(end.endpoint.armed, abandoned);
		close_end(&end);
	}
}

/* A control connection may fail before it has an endpoint. */
static void an_endpoint_that_is_not_open_explains_no_failure(void **state)
{
	struct endpoint none = {0};
	struct failure failure = {0};

	(void)state;
	failure_set(&failure, FAILURE_COMPLETION, PHASE_EXCHANGE, IBV_WC_WR_FLUSH_ERR, "call", "");
	endpoint_blame(&none, &failure);
	assert_int_equal(failure.code, IBV_WC_WR_FLUSH_ERR);
	assert_string_equal(failure.evidence, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inline_data_is_what_the_device_has),
		cmocka_unit_test(a_send_in_each_quarter_is_signaled),
		cmocka_unit_test(completions_that_overtake_others_are_held),
		cmocka_unit_test(a_send_that_is_cut_off_is_flushed),
		cmocka_unit_test(a_batch_accounts_for_taken_completions),
		cmocka_unit_test(a_list_may_be_posted_in_part),
		cmocka_unit_test(post_errors_of_either_sign_are_returned_negative),
		cmocka_unit_test(receives_land_in_their_slots),
		cmocka_unit_test(a_broken_queue_returns_no_completions),
		cmocka_unit_test(an_endpoint_uses_the_next_completion_vector),
		cmocka_unit_test(the_dscp_is_that_of_the_path),
		cmocka_unit_test(refusals_are_recognised),
		cmocka_unit_test(an_endpoint_is_drained_when_everything_has_completed),
		cmocka_unit_test(other_devices_need_no_draining),
		cmocka_unit_test(events_name_their_endpoint),
		cmocka_unit_test(an_endpoint_that_is_not_open_explains_no_failure),
	};

	return cmocka_run_group_tests_name("endpoint", tests, NULL, NULL);
}
