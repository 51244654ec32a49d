/* Whether both ends support what a measurement asks for. */
#include <stdlib.h>
#include <string.h>

#include "measure/support.h"
#include "tests/unit/unit.h"

/* Facts of an end with these operations and limits; NULL: an older release names none. */
static struct facts facts_of(const char *operations, const char *limits)
{
	struct facts facts = {0};

	facts_add(&facts, "version", "0.1.0");
	facts_add(&facts, "device", "rxe0");
	if (operations)
		facts_add(&facts, "operations", "%s", operations);
	if (limits)
		facts_add(&facts, "test limits", "%s", limits);
	return facts;
}

static const struct facts able = {
	.count = 3,
	.facts = {{"device", "rxe0"},
		{"operations", "write read fetch-add compare-swap send write-imm"},
		{"test limits", "inline 512 sge 32 sge-rd 30 signal-every 1024 srq 1 mtu 4096"}},
};

/* Checks the options against the ends. The evidence is NULL if they are supported. */
static void check(const struct options *options, const struct facts *ours,
	const struct facts *theirs, const char *evidence)
{
	struct measurement *measurement = calloc(1, sizeof(*measurement));
	int result;

	assert_non_null(measurement);
	measurement->options = options;
	measurement->ours = *ours;
	measurement->theirs = *theirs;
	result = support_check(measurement);
	assert_int_equal(result, evidence ? -1 : 0);
	if (evidence)
		assert_string_equal(measurement->threads.failure.evidence, evidence);
	free(measurement);
}

static void only_newer_servers_share_counters(void **state)
{
	static struct measurement measurement;

	(void)state;
	measurement.theirs = able;
	assert_false(support_shares_counters(&measurement));
	measurement.theirs = facts_of("write", "srq 1 shared-counter 1");
	assert_true(support_shares_counters(&measurement));
}

static struct options options_of(enum test_operation_number number, bool latency)
{
	return (struct options){
		.operation = &test_operations[number],
		.host = "hostA",
		.measure = {.latency = latency, .bandwidth = !latency},
	};
}

static void operations_need_both_ends(void **state)
{
	const struct facts old = facts_of(NULL, NULL), iwarp = facts_of("write read send", NULL);
	struct options options = options_of(TEST_SEND, false);

	(void)state;
	check(&options, &able, &able, NULL);
	check(&options, &able, &old, "rdma-server 0.1.0 of hostA supports only write read");
	options.operation = &test_operations[TEST_FETCH_ADD];
	check(&options, &iwarp, &able,
		"rxe0 of this host has no atomic operations: its atomic_cap is IBV_ATOMIC_NONE");
	options.operation = &test_operations[TEST_WRITE_IMM];
	check(&options, &able, &iwarp,
		"rxe0 of hostA has no immediate data: its transport_type is IBV_TRANSPORT_IWARP");
}

static void inline_data_needs_ends_that_send(void **state)
{
	const struct facts old = facts_of("write", NULL), less = facts_of("write", "inline 64");
	struct options options = options_of(TEST_WRITE, false);

	(void)state;
	check(&options, &able, &old, NULL);
	options.measure.inline_below = 1; /* --inline 0 */
	check(&options, &old, &old, NULL);
	options.measure.inline_below = 513;
	check(&options, &able, &less, NULL);
	check(&options, &able, &old, NULL);
	options.measure.inline_below = 514;
	check(&options, &able, &able,
		"--inline 513: the max_inline_data of rxe0 of this host is 512");
	options.measure.inline_below = 66;
	options.measure.bidirectional = true;
	check(&options, &able, &less, "--inline 65: the max_inline_data of rxe0 of hostA is 64");
	check(&options, &able, &old, "rdma-server 0.1.0 of hostA does not know --inline");
	options = options_of(TEST_WRITE, true);
	options.measure.inline_below = 66;
	check(&options, &able, &less, "--inline 65: the max_inline_data of rxe0 of hostA is 64");
}

static void pieces_and_signals_have_limits(void **state)
{
	const struct facts iwarp =
		facts_of("write read", "inline 80 sge 6 sge-rd 1 signal-every 1");
	struct options options = options_of(TEST_WRITE, false);

	(void)state;
	options.measure.gathers = 32;
	options.measure.signal_every = 1024;
	check(&options, &able, &iwarp, NULL);
	options.measure.bidirectional = true;
	check(&options, &able, &iwarp, "--sge 32: the max_sge of rxe0 of hostA is 6");
	options.measure.gathers = 6;
	check(&options, &able, &iwarp,
		"--signal-every 1024: rxe0 of hostA completes operations out of order, so each is "
		"signaled");
	options.measure.signal_every = 1;
	check(&options, &iwarp, &iwarp, NULL);
	options.operation = &test_operations[TEST_READ];
	options.measure.gathers = 2;
	check(&options, &iwarp, &able, "--sge 2: the max_sge_rd of rxe0 of this host is 1");
	options = options_of(TEST_READ, true);
	options.measure.gathers = 30;
	check(&options, &able, &iwarp, NULL);
}

static void shared_receives_need_both_ends(void **state)
{
	const struct facts without = facts_of("send", "inline 8 srq 0"), old = facts_of("send", "");
	struct options options = options_of(TEST_SEND, false);

	(void)state;
	options.measure.shares = true;
	check(&options, &able, &able, NULL);
	check(&options, &able, &without, "--srq: the max_srq of rxe0 of hostA is 0");
	check(&options, &without, &able, "--srq: the max_srq of rxe0 of this host is 0");
	check(&options, &able, &old, "rdma-server 0.1.0 of hostA does not know --srq");
}

static void datagrams_fit_one_packet(void **state)
{
	const struct facts small = facts_of("send", "inline 8 srq 1 mtu 1024"),
			   old = facts_of("send", "inline 8 srq 1"),
			   iwarp = facts_of("send", "inline 8 srq 0 mtu 0");
	struct options options = options_of(TEST_SEND, false);

	(void)state;
	options.measure.transport = TEST_UD;
	options.measure.largest = 4096;
	check(&options, &able, &able, NULL);
	check(&options, &able, &small,
		"--transport ud --size 4096: the active_mtu of rxe0 of hostA is 1024");
	check(&options, &small, &able,
		"--transport ud --size 4096: the active_mtu of rxe0 of this host is 1024");
	options.measure.largest = 1024;
	check(&options, &small, &small, NULL);
	check(&options, &able, &old, "rdma-server 0.1.0 of hostA does not know --transport");
	check(&options, &iwarp, &iwarp,
		"--transport: rxe0 of this host has only reliable connections: its transport_type "
		"is IBV_TRANSPORT_IWARP");
	options.measure.largest = 8192;
	options.measure.transport = TEST_UC;
	check(&options, &able, &small, NULL);
	check(&options, &able, &old, "rdma-server 0.1.0 of hostA does not know --transport");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_newer_servers_share_counters),
		cmocka_unit_test(operations_need_both_ends),
		cmocka_unit_test(inline_data_needs_ends_that_send),
		cmocka_unit_test(pieces_and_signals_have_limits),
		cmocka_unit_test(shared_receives_need_both_ends),
		cmocka_unit_test(datagrams_fit_one_packet),
	};

	return cmocka_run_group_tests_name("support", tests, NULL, NULL);
}
