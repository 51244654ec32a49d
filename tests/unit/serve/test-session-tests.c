/* What a measurement did, in words, whatever the peer claims. */
#include <string.h>

#include "serve/session-tests.h"
#include "tests/unit/unit.h"

static const struct test_result nothing = {0};

static struct test_parameters test_of(enum test_kind kind, bool reads, uint32_t size)
{
	return (struct test_parameters){
		.kind = kind, .operation = test_operation_by_number(reads), .size = size};
}

static void assert_text(const struct session_tests *tests, const char *wanted)
{
	char text[SESSION_TESTS_TEXT];

	session_tests_text(tests, false, text);
	assert_string_equal(text, wanted);
}

static void bandwidth_has_sizes_bytes_and_best_rate(void **state)
{
	struct test_parameters parameters = test_of(TEST_BANDWIDTH, false, 65536);
	const struct test_result slow = {
		.operations = 10, .bytes = 1000000, .nanoseconds = 1000000000};
	const struct test_result fast = {
		.operations = 10, .bytes = 3000000000, .nanoseconds = 1000000000};
	struct session_tests tests = {0};

	(void)state;
	session_tests_add(&tests, &parameters, &nothing, &slow);
	assert_text(&tests, "WRITE bandwidth of 64K, 1.0 MB, best rate 1.0 MB/s");
	parameters.size = 1 << 20;
	session_tests_add(&tests, &parameters, &nothing, &fast);
	parameters.size = 4096;
	session_tests_add(&tests, &parameters, &slow, &slow);
	assert_text(&tests, "WRITE bandwidth of 4K to 1M, 3.00 GB, best rate 3.00 GB/s");
}

static void latency_has_the_best_median(void **state)
{
	const struct test_parameters parameters = test_of(TEST_LATENCY, true, 8);
	const struct test_result first = {.operations = 10, .bytes = 80, .best = 20000};
	const struct test_result second = {.operations = 20, .bytes = 160, .best = 12300};
	struct session_tests tests = {0};

	(void)state;
	session_tests_add(&tests, &parameters, &nothing, &first);
	session_tests_add(&tests, &parameters, &nothing, &second);
	session_tests_add(&tests, &parameters, &nothing, &first);
	assert_text(&tests, "READ latency of 8 B, 320 B, best median 12.30 us");
}

static void a_client_that_sends_no_result(void **state)
{
	const struct test_parameters parameters = test_of(TEST_BANDWIDTH, true, 100);
	struct session_tests tests = {0};

	(void)state;
	session_tests_add(&tests, &parameters, &nothing, &nothing);
	assert_text(&tests, "READ bandwidth of 100 B, no result");
}

static void a_client_that_leaves_during_a_test(void **state)
{
	struct test_parameters parameters = test_of(TEST_BANDWIDTH, false, 65536);
	const struct test_result result = {
		.operations = 10, .bytes = 1000000, .nanoseconds = 1000000000};
	struct session_tests tests = {0};

	(void)state;
	session_tests_begin(&tests, &parameters);
	assert_text(&tests, "WRITE bandwidth of 64K, no result");
	session_tests_add(&tests, &parameters, &nothing, &result);
	assert_text(&tests, "WRITE bandwidth of 64K, 1.0 MB, best rate 1.0 MB/s");
	parameters.size = 1 << 20;
	session_tests_begin(&tests, &parameters);
	assert_text(&tests,
		"WRITE bandwidth of 64K, 1.0 MB, best rate 1.0 MB/s; the last test was interrupted");
}

static void a_diagnosis_has_no_single_operation(void **state)
{
	struct test_parameters parameters = test_of(TEST_BANDWIDTH, false, 65536);
	const struct test_result result = {
		.operations = 10, .bytes = 3000000000, .nanoseconds = 1000000000};
	struct session_tests tests = {0};
	char text[SESSION_TESTS_TEXT];

	(void)state;
	session_tests_text(&tests, true, text);
	assert_string_equal(text, "no result");
	session_tests_add(&tests, &parameters, &nothing, &result);
	session_tests_text(&tests, true, text);
	assert_string_equal(text, "3.00 GB, best rate 3.00 GB/s");
}

static void wrong_data_and_impossible_claims(void **state)
{
	struct test_parameters parameters = test_of(TEST_BANDWIDTH, false, UINT32_MAX);
	struct test_result all;
	struct session_tests tests = {0};

	(void)state;
	memset(&all, 0xff, sizeof(all));
	for (int i = 0; i < 3; i++)
		session_tests_add(&tests, &parameters, &all, &all);
	assert_text(&tests, "WRITE bandwidth of 4294967295 B, 18.45 EB, best rate 2.00 GB/s, "
			    "18,446,744,073,709,551,615 with wrong data");
	all.nanoseconds = 1;
	session_tests_add(&tests, &parameters, &all, &all);
	assert_text(&tests, "WRITE bandwidth of 4294967295 B, 18.45 EB, "
			    "18,446,744,073,709,551,615 with wrong data");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidth_has_sizes_bytes_and_best_rate),
		cmocka_unit_test(latency_has_the_best_median),
		cmocka_unit_test(a_client_that_sends_no_result),
		cmocka_unit_test(a_client_that_leaves_during_a_test),
		cmocka_unit_test(a_diagnosis_has_no_single_operation),
		cmocka_unit_test(wrong_data_and_impossible_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
