/* A shared receive queue: what is posted again, and when, on a queue that only counts. */
#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"
#include "verbs/shared-receives.h"

#define LEAST             8
#define RESERVE           6
#define LIMIT             (LEAST + RESERVE)
#define COUNT_OF_RECEIVES (LEAST + 2 * RESERVE)

static struct ibv_context context;
static struct ibv_pd pd = {.context = &context};

static struct {
	struct ibv_srq srq;
	unsigned int posted, limit, created;
	uint64_t last; /* wr_id */
	uint64_t address;
	int error; /* of the next call */
} queue;

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	(void)srq, (void)bad;
	if (queue.error)
		return queue.error;
	queue.posted++;
	queue.last = request->wr_id;
	queue.address = request->sg_list->addr;
	return 0;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *its_pd, struct ibv_srq_init_attr *attributes)
{
	assert_ptr_equal(its_pd, &pd);
	if (queue.error) {
		errno = queue.error;
		return NULL;
	}
	queue.srq = (struct ibv_srq){.context = &context, .srq_context = attributes->srq_context};
	queue.created++;
	return &queue.srq;
}

/* cppcheck-suppress constParameter ; the library defines the signature */
int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attributes, int mask)
{
	(void)srq;
	assert_int_equal(mask, IBV_SRQ_LIMIT);
	queue.limit = attributes->srq_limit;
	return queue.error;
}

/* cppcheck-suppress constParameter ; the library defines the signature */
int ibv_destroy_srq(struct ibv_srq *srq)
{
	assert_ptr_equal(srq, &queue.srq);
	queue.created--;
	return 0;
}

static void begin(struct shared_receives *shared, uint8_t *memory)
{
	memset(&queue, 0, sizeof(queue));
	context.ops.post_srq_recv = post_srq_recv;
	assert_int_equal(shared_receives_create(shared, &pd, LEAST, RESERVE), 0);
	shared->start = memory;
	shared->slot_size = 4;
	assert_int_equal(shared_receives_begin(shared, 0xfd), 0);
	assert_int_equal(queue.posted, COUNT_OF_RECEIVES);
	assert_int_equal(queue.limit, LIMIT);
	assert_int_equal(queue.last, 0xfd + ((COUNT_OF_RECEIVES - 1) << 16));
	assert_int_equal(queue.address, (uintptr_t)memory + UINT64_C(4) * (COUNT_OF_RECEIVES - 1));
}

/* The program takes receives, and is done with them. */
static void use(struct shared_receives *shared, unsigned int from, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		shared_receives_take(shared);
		shared_receives_release(shared, from + i);
	}
}

static void receives_are_posted_again_at_the_limit(void **state)
{
	uint8_t memory[4 * COUNT_OF_RECEIVES];
	struct shared_receives shared;

	(void)state;
	begin(&shared, memory);
	use(&shared, 0, 5);
	assert_int_equal(shared_receives_refill(&shared, 0xfd), 0);
	queue.limit = 0;
	shared_receives_limit_reached(&queue.srq);
	assert_int_equal(shared_receives_refill(&shared, 0xfd), 5);
	assert_int_equal(queue.limit, LIMIT);
	assert_int_equal(queue.posted, COUNT_OF_RECEIVES + 5);
	assert_int_equal(shared.posted, COUNT_OF_RECEIVES);
	assert_int_equal(shared_receives_refill(&shared, 0xfd), 0);
	shared_receives_destroy(&shared);
	assert_int_equal(queue.created, 0);
}

/* The messages were faster than the event, which then finds nothing to do. */
static void receives_are_posted_again_when_few_are_left(void **state)
{
	uint8_t memory[4 * COUNT_OF_RECEIVES];
	struct shared_receives shared;

	(void)state;
	begin(&shared, memory);
	use(&shared, 0, COUNT_OF_RECEIVES - LEAST);
	queue.limit = 0;
	assert_int_equal(shared_receives_refill(&shared, 0xfd), 0);
	use(&shared, COUNT_OF_RECEIVES - LEAST, 1);
	assert_int_equal(shared_receives_refill(&shared, 0xfd), COUNT_OF_RECEIVES - LEAST + 1);
	assert_int_equal(queue.limit, LIMIT);
	shared_receives_limit_reached(&queue.srq);
	assert_int_equal(shared_receives_refill(&shared, 0xfd), 0);
	/* Those that have completed are still in use. */
	for (unsigned int i = 0; i < COUNT_OF_RECEIVES; i++)
		shared_receives_take(&shared);
	queue.limit = 0;
	assert_int_equal(shared_receives_refill(&shared, 0xfd), 0);
	assert_int_equal(queue.limit, 0);
	shared_receives_destroy(&shared);
}

static void failures_are_reported(void **state)
{
	uint8_t memory[4 * COUNT_OF_RECEIVES];
	struct shared_receives shared;

	(void)state;
	begin(&shared, memory);
	use(&shared, 0, 1);
	shared_receives_limit_reached(&queue.srq);
	queue.error = ENOMEM;
	assert_int_equal(shared_receives_refill(&shared, 0xfd), -ENOMEM);
	shared_receives_destroy(&shared);
	assert_int_equal(shared_receives_create(&shared, &pd, 2, 1), -ENOMEM);
	shared_receives_destroy(&shared);
	/* A queue of another owner. */
	queue.srq.srq_context = NULL;
	shared_receives_limit_reached(&queue.srq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_are_posted_again_at_the_limit),
		cmocka_unit_test(receives_are_posted_again_when_few_are_left),
		cmocka_unit_test(failures_are_reported),
	};

	return cmocka_run_group_tests_name("shared-receives", tests, NULL, NULL);
}
