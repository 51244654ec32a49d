/*
 * Tests over unreliable queue pairs: see measure/lossy.h. The notices between both ends
 * use the connection's own queue pair, which has no operations.
 */
#include <arpa/inet.h>
#include <time.h>

#include "measure/lossy.h"

/* An operation that comes later than this many after it is taken for lost. */
#define LATEST 64

static bool is_datagram(const struct perf_test *test)
{
	return test->parameters.transport == TEST_UD;
}

/*
 * The memory of a queue pair's receives: its part of what is offered, divided between them if they
 * keep their data until it is verified. WRITEs leave it to their own data.
 */
static struct slot_area area_of(const struct perf_test *test, const struct queue_pair *pair,
	const struct test_parameters *parameters)
{
	const struct control *control = test->control;
	uint32_t part = (uint32_t)control->offered.size / test->queue_pair_count;

	return (struct slot_area){
		.start = control->offered.start + (size_t)(pair->index - test->first) * part,
		.slot_size = parameters->verify ? part / control->receives : part,
		.key = control->offered.mr->lkey,
		.shared = !parameters->verify,
	};
}

bool lossy_suffices(const struct perf_test *test, const struct test_parameters *parameters)
{
	const struct queue_pair *pair = test->queue_pairs->pair;
	struct slot_area area =
		pair->receives_posted ? pair->slots : area_of(test, pair, parameters);

	return test->control->receives >= parameters->depth &&
	       !(area.shared && parameters->verify) &&
	       (parameters->operation->immediate ||
		       parameters->size + TEST_GRH_SIZE <= area.slot_size);
}

int lossy_post(struct perf_test *test)
{
	struct control *control = test->control;
	int error = 0;

	for (uint32_t i = 0; !error && i < test->queue_pair_count; i++) {
		struct queue_pair *pair = test->queue_pairs[i].pair;

		if (pair->receives_posted)
			continue;
		queue_pair_set_slots(pair, area_of(test, pair, &test->parameters));
		error = queue_pair_post_receives(pair, control->receives);
	}
	return error ? failure_errno(&control->failure, PHASE_MEMORY, "ibv_post_recv", -error) : 0;
}

/* Takes a message of the peer about the test. */
static int take_notice(struct perf_test *test, const struct notice *notice)
{
	struct lossy_state *lossy = &test->lossy;

	if (test->parameters.kind == TEST_LATENCY || !notice->last ||
		(notice->of_initiator
				? !test->serves || lossy->peer_told
				: !lossy->told || lossy->confirmed || notice->number > lossy->sent))
		return failure_protocol(&test->control->failure, "notice",
			"the peer reported an impossible position");
	if (notice->of_initiator) {
		lossy->peer_told = true;
		lossy->peer_sent = notice->number;
	} else {
		lossy->confirmed = true;
		lossy->arrived_there = notice->number;
	}
	return 0;
}

/* True if this is an operation of the peer; anyone can send a datagram. */
static bool is_operation(const struct perf_test *test, const struct completion *completion)
{
	const struct ibv_wc *wc = completion->wc;
	uint32_t size = test->parameters.size + (is_datagram(test) ? TEST_GRH_SIZE : 0);

	return wc->wc_flags & IBV_WC_WITH_IMM && wc->byte_len == size &&
	       (!is_datagram(test) || wc->src_qp == completion->pair->number_of_peer);
}

/*
 * Notes the operation of which the immediate data is the lower half of the number: the closest to
 * the next one expected. Operations may come in any order, and datagrams more than once. Returns
 * false if this one has been counted, or comes too late to know.
 */
static bool count(struct test_queue_pair *queue_pair, const struct ibv_wc *wc, uint64_t *number)
{
	int32_t ahead = (int32_t)(ntohl(wc->imm_data) - (uint32_t)queue_pair->served);
	uint64_t behind = ahead < 0 ? (uint64_t) - (int64_t)ahead : 0, bit;

	*number = queue_pair->served + (uint64_t)(int64_t)ahead;
	if (behind > LATEST || behind > queue_pair->served)
		return false;
	if (behind == 0) {
		queue_pair->seen = ahead < LATEST - 1 ? queue_pair->seen << (ahead + 1) : 0;
		queue_pair->served = *number + 1;
		behind = 1;
	}
	bit = UINT64_C(1) << (behind - 1);
	if (queue_pair->seen & bit)
		return false;
	queue_pair->seen |= bit;
	return true;
}

int lossy_take(struct perf_test *test, const struct completion *completion, uint64_t *number,
	const uint8_t **data)
{
	struct notice notice;
	int received;

	if (perf_test_is_other(test, completion->pair) ||
		completion->wc->status != IBV_WC_SUCCESS) {
		received = perf_test_take_receive(test, completion, &notice);
		return received > 0 ? take_notice(test, &notice) : received;
	}
	if ((!test->serves && test->parameters.kind == TEST_BANDWIDTH) ||
		!is_operation(test, completion) ||
		!count(perf_test_queue_pair(test, completion->pair), completion->wc, number))
		return control_release(test->control, completion);
	*data = completion->data + (is_datagram(test) ? TEST_GRH_SIZE : 0);
	test->lossy.arrived++;
	return 1;
}

/* True if the peer has told what it sent, and no more of it will arrive. */
static bool has_all(const struct perf_test *test)
{
	const struct lossy_state *lossy = &test->lossy;

	return lossy->peer_told &&
	       (lossy->arrived >= lossy->peer_sent || lossy->looks >= LOSSY_LOOKS);
}

static int tell(struct perf_test *test, uint64_t number, bool of_initiator)
{
	return perf_test_notify(
		test, &test->lossy.connection, &(struct notice){number, of_initiator, true});
}

int lossy_tell(struct perf_test *test, bool sent)
{
	struct lossy_state *lossy = &test->lossy;
	int messages = 0;

	if (test->initiates && sent && !lossy->told) {
		lossy->told = true;
		lossy->sent = test->operations;
		if (tell(test, lossy->sent, true))
			return -1;
		messages++;
	}
	if (test->serves && !lossy->replied && has_all(test)) {
		/* A forger of datagrams could add some. */
		if (lossy->arrived > lossy->peer_sent)
			lossy->arrived = lossy->peer_sent;
		lossy->replied = true;
		if (tell(test, lossy->arrived, false))
			return -1;
		messages++;
	}
	return messages;
}

bool lossy_is_over(const struct perf_test *test)
{
	return (!test->initiates || test->lossy.confirmed) &&
	       (!test->serves || test->lossy.replied);
}

bool lossy_waits(struct perf_test *test)
{
	const struct timespec pause = {.tv_nsec = LOSSY_PAUSE_NS};
	struct lossy_state *lossy = &test->lossy;

	if (!lossy->peer_told || lossy->replied)
		return false;
	if (lossy->looked_at == lossy->arrived) {
		lossy->looks++;
		nanosleep(&pause, NULL);
	} else {
		lossy->looks = 0;
		lossy->looked_at = lossy->arrived;
	}
	return true;
}
