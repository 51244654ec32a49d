/*
 * A shared receive queue: see verbs/shared-receives.h. The endpoint's thread owns everything but
 * `reached`, which the thread that reads the device's events sets.
 */
#include <errno.h>
#include <stdlib.h>

#include "verbs/shared-receives.h"

/* Some drivers return an errno, others set it. */
static int error_of(int error)
{
	if (error > 0)
		return -error;
	return errno ? -errno : -EIO;
}

int shared_receives_create(
	struct shared_receives *shared, struct ibv_pd *pd, uint32_t least, uint32_t reserve)
{
	uint32_t count = least + 2 * reserve;

	struct ibv_srq_init_attr wanted = {
		.srq_context = shared, .attr = {.max_wr = count, .max_sge = 1}};

	*shared =
		(struct shared_receives){.count = count, .limit = least + reserve, .least = least};
	shared->free = calloc(count, sizeof(*shared->free));
	if (!shared->free)
		return -ENOMEM;
	shared->srq = ibv_create_srq(pd, &wanted);
	return shared->srq ? 0 : error_of(0);
}

uint8_t *shared_receives_slot(const struct shared_receives *shared, uint64_t slot)
{
	return shared->start + (shared->overlapping ? 0 : slot * shared->slot_size);
}

/* Posts the receives that were given back. Returns 0 or -errno. */
static int post_free(struct shared_receives *shared, uint64_t wr_id)
{
	while (shared->free_count > 0) {
		uint64_t slot = shared->free[shared->free_count - 1];
		struct ibv_sge sge = {
			.addr = (uintptr_t)shared_receives_slot(shared, slot),
			.length = shared->slot_size,
			.lkey = shared->key,
		};
		struct ibv_recv_wr *bad, request = {
						 .wr_id = wr_id + (slot << 16),
						 .sg_list = &sge,
						 .num_sge = 1,
					 };
		int error = ibv_post_srq_recv(shared->srq, &request, &bad);

		if (error)
			return error_of(error);
		shared->free_count--;
		shared->posted++;
	}
	return 0;
}

static int arm(struct shared_receives *shared)
{
	struct ibv_srq_attr attributes = {.srq_limit = shared->limit};
	int error = ibv_modify_srq(shared->srq, &attributes, IBV_SRQ_LIMIT);

	return error ? error_of(error) : 0;
}

int shared_receives_begin(struct shared_receives *shared, uint64_t wr_id)
{
	int error;

	for (uint32_t slot = 0; slot < shared->count; slot++)
		shared->free[slot] = shared->count - 1 - slot;
	shared->free_count = shared->count;
	shared->begun = true;
	error = post_free(shared, wr_id);
	return error ? error : arm(shared);
}

void shared_receives_take(struct shared_receives *shared)
{
	shared->posted--;
}

void shared_receives_release(struct shared_receives *shared, uint64_t slot)
{
	shared->free[shared->free_count++] = (uint32_t)slot;
}

int shared_receives_refill(struct shared_receives *shared, uint64_t wr_id)
{
	bool reached = atomic_load_explicit(&shared->reached, memory_order_relaxed);
	uint32_t before = shared->posted;
	int error;

	if (!reached && (shared->posted >= shared->least || shared->free_count == 0))
		return 0;
	if (reached)
		atomic_store(&shared->reached, false);
	error = post_free(shared, wr_id);
	if (!error)
		error = arm(shared);
	return error ? error : (int)(shared->posted - before);
}

void shared_receives_limit_reached(const struct ibv_srq *srq)
{
	struct shared_receives *shared = srq->srq_context;

	if (shared)
		atomic_store(&shared->reached, true);
}

void shared_receives_destroy(struct shared_receives *shared)
{
	if (shared->srq)
		ibv_destroy_srq(shared->srq);
	free(shared->free);
	*shared = (struct shared_receives){0};
}
