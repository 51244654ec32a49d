/*
 * Both halves of the operations that a diagnosis tries, on a made-up device with the properties of
 * several adapters.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/unit/control/operations-device.h"

static const struct personality *capable(void)
{
	const struct personality *personality;

	for (size_t i = 0; (personality = personality_at(i)); i++)
		if (strcmp(personality->name, "mlx5") == 0)
			return personality;
	fail();
	return NULL;
}

/* Lists the operations in this state. */
static const char *in_state(
	const struct operation_result results[OPERATIONS], enum operation_state state)
{
	static char text[512];

	*text = '\0';
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (results[operation].state == state)
			text_append(text, sizeof(text), "%s%s", *text ? ", " : "",
				operation_name(operation));
	return text;
}

static unsigned int count(
	const struct operation_result results[OPERATIONS], enum operation_state state)
{
	unsigned int found = 0;

	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		found += results[operation].state == state;
	return found;
}

static void each_operation_works_that_the_device_has(const struct personality *personality)
{
	struct operation_result results[OPERATIONS];

	operations_device_start(personality);
	assert_int_equal(operations_device_try(results), 0);
	assert_string_equal(in_state(results, OPERATION_FAILED), "");
	assert_string_equal(in_state(results, OPERATION_SKIPPED), "");
	assert_string_equal(in_state(results, OPERATION_UNSUPPORTED), personality->lacks);
	assert_int_equal(operations_device.rounds, 1);
}

/* Operations without a connection are not the devices' fault; all others are judged as ever. */
static void a_connection_over_iwarp_that_fails(void **state)
{
	static const enum operations_link_fault link_faults[] = {CANNOT_LISTEN, NO_ROUTE,
		CANNOT_CONNECT, REQUEST_LOST, CANNOT_ACCEPT, REPLY_LOST, LINK_REJECTED};
	struct operation_result results[OPERATIONS];

	(void)state;
	for (size_t i = 0; i < COUNT(link_faults); i++) {
		operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
		operations_device.link_fault = link_faults[i];
		assert_int_equal(operations_device_try(results), 0);
		assert_int_equal(count(results, OPERATION_OK), 0);
		assert_int_equal(count(results, OPERATION_SKIPPED), 0);
		assert_true(count(results, OPERATION_FAILED) > 0);
		for (enum operation operation = 0; operation < OPERATIONS; operation++)
			if (results[operation].state == OPERATION_FAILED)
				assert_int_equal(results[operation].code, FAULT_CONNECT);
		assert_int_equal(operations_device.rounds, 1);
	}
}

static void strangers_at_the_port_of_operations_are_rejected(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
	operations_device.link_fault = STRANGERS;
	assert_int_equal(operations_device_try(results), 0);
	assert_string_equal(in_state(results, OPERATION_FAILED), "");
	assert_true(operations_device.rejected >= 8);
}

/* A fault breaks a connection, and what has to be tried again has a new one. */
static void a_fault_over_iwarp_concerns_only_its_operation(void **state)
{
	struct operation_result results[OPERATIONS];
	unsigned int worked;

	(void)state;
	operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
	assert_int_equal(operations_device_try(results), 0);
	worked = count(results, OPERATION_OK);
	operations_device_start(personality_over(IBV_TRANSPORT_IWARP));
	operations_device_fault(OPERATION_EMPTY_READ, COMPLETION_FAILS);
	assert_int_equal(operations_device_try(results), 0);
	assert_string_equal(in_state(results, OPERATION_FAILED), "READ of 0 bytes");
	assert_int_equal(count(results, OPERATION_OK), worked - 1);
	assert_int_equal(operations_device.rounds, 2);
}

/* What each fault of each operation must be reported as. */
static const struct {
	enum operation operation;
	enum operations_fault fault;
	enum operation_fault code;
	bool there;
} faults[] = {
	{OPERATION_SEND, POST_FAILS, FAULT_CALL, false},
	{OPERATION_SEND, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_SEND, NEVER_COMPLETES, FAULT_LATE, false},
	{OPERATION_SEND, LOSES, FAULT_DATA, true}, /* what follows uses its receive */
	{OPERATION_SEND, DAMAGES, FAULT_DATA, true},
	{OPERATION_SEND, SHORTENS, FAULT_LENGTH, true},
	{OPERATION_SEND, RECEIVE_FAILS, FAULT_CALL, true},
	{OPERATION_SEND_IMMEDIATE, CHANGES_IMMEDIATE, FAULT_IMMEDIATE, true},
	{OPERATION_SEND_IMMEDIATE, DAMAGES, FAULT_DATA, true},
	{OPERATION_SEND_IMMEDIATE, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_WRITE_IMMEDIATE, CHANGES_IMMEDIATE, FAULT_IMMEDIATE, true},
	{OPERATION_WRITE_IMMEDIATE, DAMAGES, FAULT_DATA, true},
	{OPERATION_WRITE_IMMEDIATE, LOSES, FAULT_IMMEDIATE, true},
	{OPERATION_EMPTY_WRITE, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_EMPTY_WRITE, NEVER_COMPLETES, FAULT_LATE, false},
	{OPERATION_EMPTY_READ, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_EMPTY_READ, POST_FAILS, FAULT_CALL, false},
	{OPERATION_EMPTY_SEND, LOSES, FAULT_LENGTH, true},
	{OPERATION_EMPTY_SEND, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_GATHER, DAMAGES, FAULT_DATA, true},
	{OPERATION_GATHER, SHORTENS, FAULT_LENGTH, true},
	{OPERATION_INLINE, DAMAGES, FAULT_DATA, true},
	{OPERATION_INLINE, POST_FAILS, FAULT_CALL, false},
	{OPERATION_FENCE, LOSES, FAULT_MISSING, true},
	{OPERATION_FENCE, DAMAGES, FAULT_DATA, true},
	{OPERATION_FENCE, NEVER_COMPLETES, FAULT_LATE, false},
	{OPERATION_FETCH_ADD, RETURNS_OTHER, FAULT_VALUE, false},
	{OPERATION_FETCH_ADD, LEAVES_OTHER, FAULT_VALUE, true},
	{OPERATION_FETCH_ADD, LOSES, FAULT_VALUE, false},
	{OPERATION_COMPARE_SWAP, RETURNS_OTHER, FAULT_VALUE, false},
	{OPERATION_COMPARE_SWAP, LEAVES_OTHER, FAULT_VALUE, true},
	{OPERATION_COMPARE_SWAP, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_SHARED_RECEIVE, LOSES, FAULT_MISSING, true},
	{OPERATION_SHARED_RECEIVE, DAMAGES, FAULT_DATA, true},
	{OPERATION_SHARED_RECEIVE, RECEIVE_FAILS, FAULT_CALL, true},
	{OPERATION_WINDOW, CANNOT_BIND, FAULT_CALL, true},
	{OPERATION_WINDOW, STAYS_OPEN, FAULT_OPEN, false},
	{OPERATION_WINDOW, DAMAGES, FAULT_DATA, true},
	{OPERATION_WINDOW, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_UNRELIABLE, LOSES, FAULT_MISSING, true},
	{OPERATION_UNRELIABLE, DAMAGES, FAULT_DATA, true},
	{OPERATION_UNRELIABLE, COMPLETION_FAILS, FAULT_COMPLETION, false},
	{OPERATION_DATAGRAM, LOSES, FAULT_MISSING, true},
	{OPERATION_DATAGRAM, DAMAGES, FAULT_DATA, true},
	{OPERATION_DATAGRAM, SHORTENS, FAULT_LENGTH, true},
	{OPERATION_DATAGRAM, HAS_NO_HEADER, FAULT_HEADER, true},
	{OPERATION_DATAGRAM, POST_FAILS, FAULT_CALL, false},
	{OPERATION_PATH, LOSES, FAULT_MISSING, true},
	{OPERATION_PATH, DAMAGES, FAULT_DATA, true},
	{OPERATION_PATH, COMPLETION_FAILS, FAULT_COMPLETION, false},
};

/* A failure stays alone: everything else still works. */
static void a_fault_concerns_only_its_operation(void **state)
{
	struct operation_result results[OPERATIONS];
	char name[64];

	(void)state;
	for (size_t i = 0; i < COUNT(faults); i++) {
		const struct operation_result *result = &results[faults[i].operation];

		snprintf(name, sizeof(name), "%s, fault %d", operation_name(faults[i].operation),
			(int)faults[i].fault);
		operations_device_start(capable());
		operations_device_fault(faults[i].operation, faults[i].fault);
		assert_int_equal(operations_device_try(results), 0);
		check_case(name, result->state == OPERATION_FAILED);
		check_case(name, result->code == faults[i].code);
		check_case(name, result->there == faults[i].there);
		check_case(name, count(results, OPERATION_OK) == OPERATIONS - 1);
		check_case(name, operations_device.rounds <= 2);
	}
}

/* Each row is in the table of faults: without it, no fault would be found. */
static void each_operation_has_a_fault(void **state)
{
	bool found[OPERATIONS] = {false};

	(void)state;
	for (size_t i = 0; i < COUNT(faults); i++)
		found[faults[i].operation] = true;
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		check_case(operation_name(operation), found[operation]);
}

/* A round takes 2.5 s at most, and the server's wait 1 s. */
static void each_wait_is_bounded(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	operations_device_fault(OPERATION_SEND, NEVER_COMPLETES);
	operations_device_try(results);
	assert_true(operations_device.nanoseconds >= 2500000000);
	assert_true(operations_device.nanoseconds < 6000000000);
	operations_device_start(capable());
	operations_device_fault(OPERATION_SEND, LOSES);
	operations_device_try(results);
	assert_true(operations_device.nanoseconds >= 1000000000);
	assert_true(operations_device.nanoseconds < 1100000000);
}

static void nothing_waits_if_nothing_is_wrong(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	operations_device_try(results);
	assert_int_equal(operations_device.nanoseconds, 0);
	assert_int_equal(operations_device.commands, 2);
}

/* Without time, nothing is tried, and nothing has failed. */
static void tries_nothing_after_the_deadline(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	assert_int_equal(
		operations_try(operations_device_control(false), deadline_now(), results), 0);
	assert_int_equal(count(results, OPERATION_SKIPPED), OPERATIONS);
	assert_int_equal(operations_device.commands, 0);
}

static void lacks_what_the_capability_says(void **state)
{
	static const struct {
		unsigned int capabilities;
		int pieces;
		bool shared, unreliable, no_datagrams, no_atomics, no_inline, ethernet;
		enum operation operation;
		enum operation_lack lack;
		bool there;
	} cases[] = {
		{0, 30, true, true, false, false, false, false, OPERATION_WINDOW, LACK_WINDOWS,
			true},
		{0, 30, true, true, false, false, false, false, OPERATION_PATH, LACK_MIGRATION,
			false},
		{IBV_DEVICE_AUTO_PATH_MIG, 30, true, true, false, false, false, true,
			OPERATION_PATH, LACK_INFINIBAND, false},
		{0, 2, true, true, false, false, false, false, OPERATION_GATHER, LACK_PIECES,
			false},
		{0, 30, false, true, false, false, false, false, OPERATION_SHARED_RECEIVE,
			LACK_SHARED, true},
		{0, 30, true, false, false, false, false, false, OPERATION_UNRELIABLE,
			LACK_UNRELIABLE, false},
		{0, 30, true, true, true, false, false, false, OPERATION_DATAGRAM, LACK_DATAGRAMS,
			false},
		{0, 30, true, true, false, true, false, false, OPERATION_FETCH_ADD, LACK_ATOMICS,
			false},
		{0, 30, true, true, false, true, false, false, OPERATION_COMPARE_SWAP, LACK_ATOMICS,
			false},
		{0, 30, true, true, false, false, true, false, OPERATION_INLINE, LACK_INLINE,
			false},
	};
	struct operation_result results[OPERATIONS];
	struct personality personality;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *name = operation_name(cases[i].operation);

		personality = *capable();
		personality.capabilities = cases[i].capabilities;
		personality.pieces = cases[i].pieces;
		personality.shared_receives = cases[i].shared;
		personality.unreliable = cases[i].unreliable;
		personality.no_datagrams = cases[i].no_datagrams;
		personality.no_atomics = cases[i].no_atomics;
		personality.infiniband = !cases[i].ethernet;
		operations_device_start(&personality);
		operations_device.no_inline = cases[i].no_inline;
		assert_int_equal(operations_device_try(results), 0);
		check_case(name, results[cases[i].operation].state == OPERATION_UNSUPPORTED);
		check_case(name, results[cases[i].operation].code == cases[i].lack);
		check_case(name, results[cases[i].operation].there == cases[i].there);
		check_case(name, count(results, OPERATION_FAILED) == 0);
	}
}

/* Only windows of type 2 can be invalidated by the client. */
static void windows_of_type_1_are_bound_by_a_call(void **state)
{
	struct operation_result results[OPERATIONS];
	struct personality personality = *capable();

	(void)state;
	personality.capabilities = IBV_DEVICE_MEM_WINDOW;
	operations_device_start(&personality);
	operations_device_try(results);
	assert_int_equal(results[OPERATION_WINDOW].state, OPERATION_OK);
	operations_device_start(&personality);
	operations_device_fault(OPERATION_WINDOW, DAMAGES);
	operations_device_try(results);
	assert_int_equal(results[OPERATION_WINDOW].code, FAULT_DATA);
}

/* A call that fails is the failure of those operations that need it; nothing is left. */
static void survives_failing_calls(void **state)
{
	static const struct {
		enum operations_call call;
		unsigned int failed;
	} cases[] = {
		{ALLOC_PD, OPERATIONS},
		{CREATE_CQ, OPERATIONS},
		{REG_MR, OPERATIONS},
		{CREATE_QP, OPERATIONS},
		{MODIFY_QP, OPERATIONS},
		{CREATE_SRQ, 1},
		{CREATE_AH, 1},
		{ALLOC_MW, 1},
	};
	struct operation_result results[OPERATIONS];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		operations_device_start(capable());
		operations_device.failing = cases[i].call;
		assert_int_equal(operations_device_try(results), 0);
		assert_int_equal(count(results, OPERATION_FAILED), cases[i].failed);
		assert_int_equal(count(results, OPERATION_OK), OPERATIONS - cases[i].failed);
	}
}

static void fails_if_the_connection_ends(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	operations_device_fault(OPERATION_SEND, NEVER_COMPLETES);
	operations_device.gone = true;
	assert_int_equal(operations_device_try(results), -1);
}

static void fails_if_the_server_answers_anything_else(void **state)
{
	struct operation_result results[OPERATIONS];
	struct control *control;

	(void)state;
	operations_device_start(capable());
	operations_device.malformed = true;
	assert_int_equal(operations_device_try(results), -1);
	control = operations_device_control(false);
	assert_int_equal(control->failure.kind, FAILURE_PROTOCOL);
}

/* Hostile clients: the server survives, and says what has not arrived. */

static void queue_pairs_that_do_not_exist_fail(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	operations_device.wrong_numbers = 1000;
	assert_int_equal(operations_device_try(results), 0);
	assert_int_equal(results[OPERATION_DATAGRAM].state, OPERATION_FAILED);
	assert_int_equal(results[OPERATION_DATAGRAM].code, FAULT_MISSING);
	assert_true(results[OPERATION_DATAGRAM].there);
}

/* Begins at the server with an offer whose queue pairs have these numbers. */
static struct operations_offer begun_with(uint32_t number, uint32_t sequence)
{
	struct operations_offer offer = {.wanted = OPERATIONS_ALL}, reply;
	uint8_t text[OPERATIONS_OFFER_SIZE], answer[OPERATIONS_OFFER_SIZE];

	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		offer.queues[i].number = number;
		offer.queues[i].sequence = sequence;
	}
	operations_offer_encode(&offer, text);
	assert_int_equal(
		operations_begin(&operations_device.server, operations_device_control(true),
			(const char *)text, sizeof(text), answer),
		0);
	assert_int_equal(operations_offer_decode(&reply, answer, sizeof(answer)), 0);
	return reply;
}

static void ended_without_arrivals(struct operation_result results[OPERATIONS])
{
	struct operation_result claims[OPERATIONS] = {0};
	uint8_t text[OPERATIONS_RESULTS_SIZE], answer[OPERATIONS_RESULTS_SIZE];

	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		claims[operation].state = OPERATION_OK;
	operations_results_encode(claims, text);
	assert_int_equal(
		operations_end(&operations_device.server, (const char *)text, sizeof(text), answer),
		0);
	assert_int_equal(operations_results_decode(results, answer, sizeof(answer)), 0);
}

static void a_client_that_sends_nothing_is_told_so(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	begun_with(0xffffff, 0xffffff);
	ended_without_arrivals(results);
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		const bool one_sided =
			operation == OPERATION_EMPTY_WRITE || operation == OPERATION_EMPTY_READ;

		check_case(operation_name(operation),
			results[operation].state == (one_sided ? OPERATION_OK : OPERATION_FAILED));
	}
	assert_int_equal(operations_device.resources, 0);
}

/* Without numbers, the server connects nothing. */
static void offers_without_queue_pairs_are_refused_one_by_one(void **state)
{
	struct operations_offer reply;

	(void)state;
	operations_device_start(capable());
	reply = begun_with(0, 0);
	assert_int_equal(count(reply.prepared, OPERATION_FAILED), OPERATIONS);
	/* Begun again, the server keeps only the last. */
	begun_with(1, 2);
	begun_with(3, 4);
	operation_end_close(&operations_device.server);
	assert_int_equal(operations_device.resources, 0);
}

static void datagrams_of_strangers_do_not_count(void **state)
{
	struct operation_result results[OPERATIONS];

	(void)state;
	operations_device_start(capable());
	begun_with(0xffffff, 0);
	operations_device_intrude();
	ended_without_arrivals(results);
	assert_int_equal(results[OPERATION_DATAGRAM].state, OPERATION_FAILED);
	assert_int_equal(results[OPERATION_DATAGRAM].code, FAULT_MISSING);
}

static void malformed_commands_are_refused(void **state)
{
	uint8_t text[OPERATIONS_OFFER_SIZE + 1] = {0}, answer[OPERATIONS_OFFER_SIZE];
	struct operation_end *server = &operations_device.server;
	struct control *control = operations_device_control(true);

	(void)state;
	operations_device_start(capable());
	/* An end without a beginning. */
	assert_int_equal(
		operations_end(server, (const char *)text, OPERATIONS_RESULTS_SIZE, answer),
		-EPROTO);
	assert_int_equal(
		operations_begin(server, control, (const char *)text, sizeof(text), answer),
		-EPROTO);
	assert_int_equal(operations_begin(server, control, (const char *)text, 0, answer), -EPROTO);
	memset(text, 0xff, sizeof(text));
	assert_int_equal(operations_begin(server, control, (const char *)text,
				 OPERATIONS_OFFER_SIZE, answer),
		-EPROTO);
	assert_int_equal(operations_device.resources, 0);
}

static const struct scenario scenarios[] = {
	{"each operation works that the device has", each_operation_works_that_the_device_has},
};

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_over_iwarp_that_fails),
		cmocka_unit_test(strangers_at_the_port_of_operations_are_rejected),
		cmocka_unit_test(a_fault_over_iwarp_concerns_only_its_operation),
		cmocka_unit_test(a_fault_concerns_only_its_operation),
		cmocka_unit_test(each_operation_has_a_fault),
		cmocka_unit_test(each_wait_is_bounded),
		cmocka_unit_test(nothing_waits_if_nothing_is_wrong),
		cmocka_unit_test(tries_nothing_after_the_deadline),
		cmocka_unit_test(lacks_what_the_capability_says),
		cmocka_unit_test(windows_of_type_1_are_bound_by_a_call),
		cmocka_unit_test(survives_failing_calls),
		cmocka_unit_test(fails_if_the_connection_ends),
		cmocka_unit_test(fails_if_the_server_answers_anything_else),
		cmocka_unit_test(queue_pairs_that_do_not_exist_fail),
		cmocka_unit_test(a_client_that_sends_nothing_is_told_so),
		cmocka_unit_test(offers_without_queue_pairs_are_refused_one_by_one),
		cmocka_unit_test(datagrams_of_strangers_do_not_count),
		cmocka_unit_test(malformed_commands_are_refused),
	};

	return cmocka_run_group_tests_name("operations", tests, NULL, NULL) +
	       personality_run("operations", scenarios, COUNT(scenarios));
}
