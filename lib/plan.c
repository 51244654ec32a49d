#include <errno.h>
#include <string.h>

#include "plan.h"
#include "wire.h"

/* Byte offsets. */
enum {
	AT_KIND = 0,
	AT_WAIT = 2,
	AT_READS = 4,
	AT_BOTH_WAYS = 5,
	AT_VERIFY = 6,
	AT_SIZE = 8,
	AT_QUEUE_PAIRS = 12,
	AT_DEPTH = 16,
	AT_SLOTS = 20,
	AT_MILLISECONDS = 24,
	AT_OPERATIONS = 32,
	AT_SEED = 40,
};

void plan_encode(const struct plan *plan, uint8_t buffer[PLAN_SIZE])
{
	memset(buffer, 0, PLAN_SIZE);
	wire_put16(buffer + AT_KIND, (uint16_t)plan->kind);
	wire_put16(buffer + AT_WAIT, (uint16_t)plan->wait);
	buffer[AT_READS] = plan->reads;
	buffer[AT_BOTH_WAYS] = plan->both_ways;
	buffer[AT_VERIFY] = plan->verify;
	wire_put32(buffer + AT_SIZE, plan->size);
	wire_put32(buffer + AT_QUEUE_PAIRS, plan->queue_pairs);
	wire_put32(buffer + AT_DEPTH, plan->depth);
	wire_put32(buffer + AT_SLOTS, plan->slots);
	wire_put32(buffer + AT_MILLISECONDS, plan->milliseconds);
	wire_put64(buffer + AT_OPERATIONS, plan->operations);
	wire_put64(buffer + AT_SEED, plan->seed);
}

bool plan_shape_is_possible(uint32_t queue_pairs, uint32_t depth)
{
	return queue_pairs > 0 && queue_pairs <= PLAN_QUEUE_PAIRS_MAX && depth > 0 &&
	       depth <= PLAN_DEPTH_MAX && queue_pairs * depth <= PLAN_REQUESTS_MAX;
}

static bool is_possible(const struct plan *plan)
{
	return plan->kind < PLAN_KINDS && plan->wait < PLAN_WAITS && plan->size > 0 &&
	       plan_shape_is_possible(plan->queue_pairs, plan->depth) && plan->slots > 0 &&
	       plan->slots <= plan->depth && (plan->operations > 0 || plan->milliseconds > 0);
}

int plan_decode(struct plan *plan, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	if (length != PLAN_SIZE)
		return -EPROTO;
	*plan = (struct plan){
		.kind = (enum plan_kind)wire_get16(bytes + AT_KIND),
		.wait = (enum plan_wait)wire_get16(bytes + AT_WAIT),
		.reads = bytes[AT_READS] == 1,
		.both_ways = bytes[AT_BOTH_WAYS] == 1,
		.verify = bytes[AT_VERIFY] == 1,
		.size = wire_get32(bytes + AT_SIZE),
		.queue_pairs = wire_get32(bytes + AT_QUEUE_PAIRS),
		.depth = wire_get32(bytes + AT_DEPTH),
		.slots = wire_get32(bytes + AT_SLOTS),
		.milliseconds = wire_get32(bytes + AT_MILLISECONDS),
		.operations = wire_get64(bytes + AT_OPERATIONS),
		.seed = wire_get64(bytes + AT_SEED),
	};
	return is_possible(plan) ? 0 : -EPROTO;
}

uint64_t plan_memory(const struct plan *plan)
{
	return (uint64_t)plan->size * plan->slots * plan->queue_pairs;
}

void tally_encode(const struct tally *tally, uint8_t buffer[TALLY_SIZE])
{
	const uint64_t numbers[TALLY_SIZE / 8] = {tally->operations, tally->bytes,
		tally->nanoseconds, tally->cpu_nanoseconds, tally->worst, tally->best,
		tally->wrong};

	for (size_t i = 0; i < TALLY_SIZE / 8; i++)
		wire_put64(buffer + 8 * i, numbers[i]);
}

int tally_decode(struct tally *tally, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	if (length != TALLY_SIZE)
		return -EPROTO;
	*tally = (struct tally){
		.operations = wire_get64(bytes),
		.bytes = wire_get64(bytes + 8),
		.nanoseconds = wire_get64(bytes + 16),
		.cpu_nanoseconds = wire_get64(bytes + 24),
		.worst = wire_get64(bytes + 32),
		.best = wire_get64(bytes + 40),
		.wrong = wire_get64(bytes + 48),
	};
	return 0;
}

void tally_add(struct tally *sum, const struct tally *part)
{
	sum->operations += part->operations;
	sum->bytes += part->bytes;
	if (part->nanoseconds > sum->nanoseconds)
		sum->nanoseconds = part->nanoseconds;
	sum->cpu_nanoseconds += part->cpu_nanoseconds;
	sum->wrong += part->wrong;
	sum->worst = sum->best = 0;
}
