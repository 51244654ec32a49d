/* Accepted test parameters and results are valid, and encode to the same bytes again. */
#include <errno.h>

#include "protocol/test-parameters.h"
#include "tests/fuzz/fuzz.h"

static void check_parameters(const uint8_t *data, size_t size)
{
	void *exact = fuzz_copy(data, size);
	uint8_t bytes[TEST_PARAMETERS_SIZE], again[TEST_PARAMETERS_SIZE];
	struct test_parameters parameters, back;
	int error = test_parameters_decode(&parameters, exact, size);

	free(exact);
	fuzz_check(error == 0 || error == -EPROTO);
	fuzz_check(size == TEST_PARAMETERS_SIZE || error);
	if (error)
		return;
	fuzz_check(parameters.kind < TEST_KINDS && parameters.wait < TEST_WAITS);
	fuzz_check(parameters.direction <
		   (parameters.kind == TEST_LATENCY ? TEST_BOTH : TEST_DIRECTIONS));
	fuzz_check(parameters.size > 0);
	fuzz_check(parameters.operations > 0 || parameters.milliseconds > 0);
	fuzz_check(parameters.queue_pairs > 0 && parameters.queue_pairs <= TEST_QUEUE_PAIRS_MAX);
	fuzz_check(parameters.depth > 0 && parameters.depth <= TEST_DEPTH_MAX);
	fuzz_check(parameters.queue_pairs * parameters.depth <= TEST_REQUESTS_MAX);
	fuzz_check(parameters.slots > 0 && parameters.slots <= parameters.depth);
	fuzz_check(parameters.inline_below <=
		   (parameters.operation->fetches ? 0 : TEST_INLINE_MAX + 1));
	fuzz_check(parameters.signal_every <= parameters.depth);
	fuzz_check(parameters.gathers <= TEST_SGE_MAX && parameters.gathers <= parameters.size);
	/* No product overflows. */
	fuzz_check(test_parameters_memory(&parameters) / parameters.size ==
		   (uint64_t)parameters.slots * parameters.queue_pairs);
	test_parameters_encode(&parameters, bytes);
	fuzz_check(test_parameters_decode(&back, bytes, TEST_PARAMETERS_SIZE) == 0);
	test_parameters_encode(&back, again);
	fuzz_check(memcmp(bytes, again, TEST_PARAMETERS_SIZE) == 0);
	/* Except for the flag, which becomes 0 or 1, and ignored bytes. */
	fuzz_check(memcmp(bytes, data, 4) == 0 && memcmp(bytes + 8, data + 8, 20) == 0);
	fuzz_check(memcmp(bytes + 32, data + 32, 22) == 0);
	fuzz_check(memcmp(bytes + 4, data + 4, 2) == 0);
	fuzz_check(bytes[6] == (data[6] == 1) && bytes[7] == data[7]);
	fuzz_check(memcmp(bytes + 56, data + 56, 8) == 0);
	fuzz_check(!parameters.counter || test_parameters_tickets(&parameters));
	fuzz_check(parameters.transport == TEST_RC || parameters.operation->receives);
}

static void check_test_result(const uint8_t *data, size_t size)
{
	void *exact = fuzz_copy(data, size);
	uint8_t bytes[TEST_RESULT_SIZE];
	struct test_result result;
	int error = test_result_decode(&result, exact, size);

	free(exact);
	fuzz_check(error == (size == TEST_RESULT_SIZE ? 0 : -EPROTO));
	if (error)
		return;
	test_result_encode(&result, bytes);
	fuzz_check(memcmp(bytes, data, TEST_RESULT_SIZE) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_parameters(data, size);
	check_test_result(data, size);
	return 0;
}
