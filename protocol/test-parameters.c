/* Encodes and decodes the parameters and results of tests. */
#include <errno.h>
#include <string.h>

#include "protocol/little-endian.h"
#include "protocol/test-parameters.h"

/* Byte offsets. */
enum {
	AT_KIND = 0,
	AT_WAIT = 2,
	AT_OPERATION = 4,
	AT_DIRECTION = 5,
	AT_VERIFY = 6,
	AT_TRANSPORT = 7,
	AT_SIZE = 8,
	AT_QUEUE_PAIRS = 12,
	AT_DEPTH = 16,
	AT_SLOTS = 20,
	AT_MILLISECONDS = 24,
	AT_OPERATIONS = 32,
	AT_SEED = 40,
	AT_INLINE = 48,
	AT_SIGNAL_EVERY = 50,
	AT_GATHERS = 52,
	AT_COUNTER = 56,
};

void test_parameters_encode(
	const struct test_parameters *parameters, uint8_t buffer[TEST_PARAMETERS_SIZE])
{
	memset(buffer, 0, TEST_PARAMETERS_SIZE);
	le_put16(buffer + AT_KIND, (uint16_t)parameters->kind);
	le_put16(buffer + AT_WAIT, (uint16_t)parameters->wait);
	buffer[AT_OPERATION] = (uint8_t)parameters->operation->number;
	buffer[AT_DIRECTION] = (uint8_t)parameters->direction;
	buffer[AT_VERIFY] = parameters->verify;
	buffer[AT_TRANSPORT] = (uint8_t)parameters->transport;
	le_put32(buffer + AT_SIZE, parameters->size);
	le_put32(buffer + AT_QUEUE_PAIRS, parameters->queue_pairs);
	le_put32(buffer + AT_DEPTH, parameters->depth);
	le_put32(buffer + AT_SLOTS, parameters->slots);
	le_put32(buffer + AT_MILLISECONDS, parameters->milliseconds);
	le_put64(buffer + AT_OPERATIONS, parameters->operations);
	le_put64(buffer + AT_SEED, parameters->seed);
	le_put16(buffer + AT_INLINE, (uint16_t)parameters->inline_below);
	le_put16(buffer + AT_SIGNAL_EVERY, (uint16_t)parameters->signal_every);
	le_put16(buffer + AT_GATHERS, (uint16_t)parameters->gathers);
	le_put64(buffer + AT_COUNTER, parameters->counter);
}

bool test_shape_is_possible(uint32_t queue_pairs, uint32_t depth)
{
	return queue_pairs > 0 && queue_pairs <= TEST_QUEUE_PAIRS_MAX && depth > 0 &&
	       depth <= TEST_DEPTH_MAX && queue_pairs * depth <= TEST_REQUESTS_MAX;
}

bool test_parameters_lossy(const struct test_parameters *parameters)
{
	return parameters->transport != TEST_RC;
}

bool test_parameters_server_posts(const struct test_parameters *parameters)
{
	return parameters->direction != TEST_CLIENT ||
	       (parameters->kind == TEST_LATENCY && !parameters->operation->fetches);
}

bool test_parameters_immediate(const struct test_parameters *parameters)
{
	return parameters->operation->immediate ||
	       (parameters->kind == TEST_LATENCY &&
		       test_operation_is_silent(parameters->operation) &&
		       parameters->wait != TEST_SPIN);
}

bool test_parameters_notices(const struct test_parameters *parameters)
{
	/*
	 * Only the initiator of an atomic operation compares what it fetches, and what uses up a
	 * receive needs no notice.
	 */
	return parameters->verify && parameters->kind == TEST_BANDWIDTH &&
	       !parameters->operation->atomic && !parameters->operation->receives;
}

bool test_parameters_tickets(const struct test_parameters *parameters)
{
	/* A client of an earlier release wants more depth for compare-and-swap. */
	return parameters->verify && parameters->kind == TEST_BANDWIDTH &&
	       parameters->operation->atomic &&
	       (parameters->operation->number == TEST_FETCH_ADD || parameters->depth == 1);
}

uint64_t test_parameters_window(const struct test_parameters *parameters)
{
	return parameters->operation->receives && !parameters->verify ? parameters->depth
								      : parameters->slots;
}

/*
 * True if the parameters suit the operation. What an atomic operation fetches stays in its slot
 * until it is verified.
 */
static bool suits(const struct test_parameters *parameters)
{
	if (!parameters->operation || (parameters->counter && !test_parameters_tickets(parameters)))
		return false;
	if (!parameters->operation->atomic)
		return true;
	return parameters->size == TEST_ATOMIC_SIZE &&
	       (!parameters->verify || parameters->kind == TEST_LATENCY ||
		       parameters->slots == parameters->depth);
}

/*
 * True if the transport has the operation, and something tells what arrives. In a bandwidth test, a
 * sender that nothing but completions holds back reuses a slot after its operation has completed,
 * and overwrites what its WRITEs have written.
 */
static bool suits_transport(const struct test_parameters *parameters)
{
	if (parameters->transport == TEST_RC)
		return true;
	if (parameters->transport >= TEST_TRANSPORTS || !parameters->operation->receives ||
		(parameters->operation->immediate && parameters->transport == TEST_UD))
		return false;
	return !parameters->verify || parameters->kind == TEST_LATENCY ||
	       (!parameters->operation->immediate && parameters->slots == parameters->depth);
}

/* True if work requests can be as the parameters say. */
static bool has_possible_requests(const struct test_parameters *parameters)
{
	uint32_t pieces = parameters->operation->atomic ? 1 : TEST_SGE_MAX;

	return parameters->inline_below <=
		       (parameters->operation->fetches ? 0 : TEST_INLINE_MAX + 1) &&
	       parameters->gathers <= pieces && parameters->gathers <= parameters->size &&
	       parameters->signal_every <=
		       (parameters->kind == TEST_LATENCY ? 0 : parameters->depth);
}

static bool is_possible(const struct test_parameters *parameters)
{
	return parameters->kind < TEST_KINDS && parameters->wait < TEST_WAITS &&
	       parameters->direction <
		       (parameters->kind == TEST_LATENCY ? TEST_BOTH : TEST_DIRECTIONS) &&
	       suits(parameters) && suits_transport(parameters) && parameters->size > 0 &&
	       has_possible_requests(parameters) &&
	       test_shape_is_possible(parameters->queue_pairs, parameters->depth) &&
	       parameters->slots > 0 && parameters->slots <= parameters->depth &&
	       (parameters->operations > 0 || parameters->milliseconds > 0);
}

int test_parameters_decode(struct test_parameters *parameters, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	if (length != TEST_PARAMETERS_SIZE)
		return -EPROTO;
	*parameters = (struct test_parameters){
		.kind = (enum test_kind)le_get16(bytes + AT_KIND),
		.wait = (enum test_wait)le_get16(bytes + AT_WAIT),
		.direction = (enum test_direction)bytes[AT_DIRECTION],
		.operation = test_operation_by_number(bytes[AT_OPERATION]),
		.verify = bytes[AT_VERIFY] == 1,
		.transport = (enum test_transport)bytes[AT_TRANSPORT],
		.size = le_get32(bytes + AT_SIZE),
		.queue_pairs = le_get32(bytes + AT_QUEUE_PAIRS),
		.depth = le_get32(bytes + AT_DEPTH),
		.slots = le_get32(bytes + AT_SLOTS),
		.milliseconds = le_get32(bytes + AT_MILLISECONDS),
		.operations = le_get64(bytes + AT_OPERATIONS),
		.seed = le_get64(bytes + AT_SEED),
		.inline_below = le_get16(bytes + AT_INLINE),
		.signal_every = le_get16(bytes + AT_SIGNAL_EVERY),
		.gathers = le_get16(bytes + AT_GATHERS),
		.counter = le_get64(bytes + AT_COUNTER),
	};
	return is_possible(parameters) ? 0 : -EPROTO;
}

uint64_t test_parameters_memory(const struct test_parameters *parameters)
{
	return (uint64_t)parameters->size * parameters->slots * parameters->queue_pairs;
}

void test_result_encode(const struct test_result *result, uint8_t buffer[TEST_RESULT_SIZE])
{
	const uint64_t numbers[TEST_RESULT_SIZE / 8] = {result->operations, result->bytes,
		result->nanoseconds, result->cpu_nanoseconds, result->worst, result->best,
		result->wrong, result->wrong_offset};

	for (size_t i = 0; i < TEST_RESULT_SIZE / 8; i++)
		le_put64(buffer + 8 * i, numbers[i]);
}

int test_result_decode(struct test_result *result, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	if (length != TEST_RESULT_SIZE)
		return -EPROTO;
	*result = (struct test_result){
		.operations = le_get64(bytes),
		.bytes = le_get64(bytes + 8),
		.nanoseconds = le_get64(bytes + 16),
		.cpu_nanoseconds = le_get64(bytes + 24),
		.worst = le_get64(bytes + 32),
		.best = le_get64(bytes + 40),
		.wrong = le_get64(bytes + 48),
		.wrong_offset = le_get64(bytes + 56),
	};
	return 0;
}

void test_result_add(struct test_result *sum, const struct test_result *part)
{
	sum->operations += part->operations;
	sum->bytes += part->bytes;
	if (part->nanoseconds > sum->nanoseconds)
		sum->nanoseconds = part->nanoseconds;
	sum->cpu_nanoseconds += part->cpu_nanoseconds;
	sum->wrong += part->wrong;
	sum->lost += part->lost;
	sum->worst = sum->best = 0;
}
