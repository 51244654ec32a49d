/* What the check of operations says about their results. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/operations-check.h"
#include "tests/unit/unit.h"

static struct check_list judged(const struct operation_result results[OPERATIONS])
{
	struct check_list list;

	check_list_init(&list, diagnose_checks, "10.0.0.2");
	assert_int_equal(operations_check_judge(&list, results), 0);
	return list;
}

static void set_all(struct operation_result results[OPERATIONS], enum operation_state state)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		results[operation] = (struct operation_result){.state = state};
}

/* At 40 columns, 20 are left beside the name and the state. */
static void a_good_result_fits_one_line(void **state)
{
	struct operation_result results[OPERATIONS];
	struct check_list list;

	(void)state;
	set_all(results, OPERATION_OK);
	list = judged(results);
	assert_string_equal(list.checks[CHECK_OPERATIONS].text, "16 ok");
	results[OPERATION_PATH] =
		(struct operation_result){OPERATION_UNSUPPORTED, LACK_MIGRATION, 0, 0};
	list = judged(results);
	assert_int_equal(list.checks[CHECK_OPERATIONS].state, CHECK_OK);
	assert_string_equal(
		list.checks[CHECK_OPERATIONS].text, "15 ok, 1 unsupported: alternate path");
	assert_string_equal(list.checks[CHECK_OPERATIONS].shorter[0], "15 ok, 1 unsupported");
	assert_true(strlen(list.checks[CHECK_OPERATIONS].shorter[0]) <= 20);
}

static void unsupported_is_no_failure(void **state)
{
	struct operation_result results[OPERATIONS];
	struct check_list list;

	(void)state;
	set_all(results, OPERATION_UNSUPPORTED);
	list = judged(results);
	assert_int_equal(list.checks[CHECK_OPERATIONS].state, CHECK_OK);
	assert_string_equal(list.checks[CHECK_OPERATIONS].text, "0 ok, 16 unsupported");
	assert_int_equal(check_list_status(&list), STATUS_OK);
}

static void a_failure_names_each_operation(void **state)
{
	struct operation_result results[OPERATIONS];
	struct check_list list;
	char text[1024];

	(void)state;
	set_all(results, OPERATION_OK);
	results[OPERATION_FETCH_ADD] =
		(struct operation_result){OPERATION_FAILED, FAULT_VALUE, 0, true};
	results[OPERATION_WINDOW] =
		(struct operation_result){OPERATION_FAILED, FAULT_OPEN, 0, true};
	results[OPERATION_DATAGRAM] =
		(struct operation_result){OPERATION_FAILED, FAULT_MISSING, 0, true};
	list = judged(results);
	assert_int_equal(list.checks[CHECK_OPERATIONS].state, CHECK_FAILED);
	assert_int_equal(check_list_broken(&list), CHECK_OPERATIONS);
	assert_int_equal(check_list_status(&list), STATUS_PEER);
	assert_string_equal(check_list_verdict_word(&list), "impaired");
	check_list_lines(&list, CHECK_OPERATIONS, 0, text, sizeof(text));
	assert_non_null(
		strstr(text, "seen: fetch-and-add: other host: wrong value; memory window: "));
	assert_null(strstr(text, "datagram"));
}

/* Over iWARP, a firewall may let only the server's port through. */
static void operations_without_a_connection_are_not_tried(void **state)
{
	struct operation_result results[OPERATIONS];
	struct check_list list;

	(void)state;
	set_all(results, OPERATION_UNSUPPORTED);
	results[OPERATION_SEND] = (struct operation_result){OPERATION_FAILED, FAULT_CONNECT, 0, 0};
	list = judged(results);
	assert_int_equal(list.checks[CHECK_OPERATIONS].state, CHECK_SKIPPED);
	assert_string_equal(list.checks[CHECK_OPERATIONS].text, "no second connection");
	results[OPERATION_FENCE] = (struct operation_result){OPERATION_OK, 0, 0, 0};
	list = judged(results);
	assert_int_equal(list.checks[CHECK_OPERATIONS].state, CHECK_OK);
	assert_string_equal(list.checks[CHECK_OPERATIONS].text, "1 ok, 1 unknown: SEND");
}

/* What a lost packet, a busy host or a limit can do is no evidence of a fault. */
static void what_a_healthy_host_can_do_is_unknown(void **state)
{
	static const struct {
		enum operation operation;
		struct operation_result result;
		bool unknown;
	} cases[] = {
		{OPERATION_SEND, {OPERATION_FAILED, FAULT_LATE, 0, false}, true},
		{OPERATION_SEND, {OPERATION_FAILED, FAULT_COMPLETION, IBV_WC_RETRY_EXC_ERR, false},
			true},
		{OPERATION_SEND, {OPERATION_FAILED, FAULT_COMPLETION, IBV_WC_REM_OP_ERR, false},
			false},
		{OPERATION_SEND, {OPERATION_FAILED, FAULT_MISSING, 0, true}, false},
		{OPERATION_UNRELIABLE, {OPERATION_FAILED, FAULT_MISSING, 0, true}, true},
		{OPERATION_DATAGRAM, {OPERATION_FAILED, FAULT_MISSING, 0, true}, true},
		{OPERATION_DATAGRAM, {OPERATION_FAILED, FAULT_DATA, 0, true}, false},
		{OPERATION_WINDOW, {OPERATION_FAILED, FAULT_CALL, ENOMEM, true}, true},
		{OPERATION_WINDOW, {OPERATION_FAILED, FAULT_CALL, EINVAL, true}, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct operation_result results[OPERATIONS];
		char line[OPERATIONS_CHECK_LINE];
		struct check_list list;

		set_all(results, OPERATION_OK);
		results[cases[i].operation] = cases[i].result;
		list = judged(results);
		assert_int_equal(list.checks[CHECK_OPERATIONS].state,
			cases[i].unknown ? CHECK_OK : CHECK_FAILED);
		if (cases[i].unknown)
			assert_int_equal(strncmp(list.checks[CHECK_OPERATIONS].text,
						 "15 ok, 1 unknown: ", 18),
				0);
		operations_check_line(results, cases[i].operation, line);
		assert_int_equal(strstr(line, " unknown, ") != NULL, cases[i].unknown);
	}
}

/* The verdict of earlier checks stands. */
static void what_was_not_tried_is_no_failure(void **state)
{
	struct operation_result results[OPERATIONS];
	struct check_list list;

	(void)state;
	set_all(results, OPERATION_SKIPPED);
	list = judged(results);
	assert_int_equal(list.checks[CHECK_OPERATIONS].state, CHECK_SKIPPED);
	results[OPERATION_SEND].state = OPERATION_OK;
	list = judged(results);
	assert_string_equal(list.checks[CHECK_OPERATIONS].text, "1 ok, 15 not tried");
}

static void verbose_lists_what_was_tried(void **state)
{
	struct operation_result results[OPERATIONS];
	char line[OPERATIONS_CHECK_LINE];

	(void)state;
	set_all(results, OPERATION_SKIPPED);
	assert_false(operations_check_line(results, OPERATION_SEND, line));
	results[OPERATION_SEND].state = OPERATION_OK;
	assert_true(operations_check_line(results, OPERATION_SEND, line));
	assert_string_equal(line, "SEND ok");
	results[OPERATION_PATH] =
		(struct operation_result){OPERATION_UNSUPPORTED, LACK_INFINIBAND, 0, 0};
	assert_true(operations_check_line(results, OPERATION_PATH, line));
	assert_string_equal(
		line, "alternate path unsupported, this host: Linux has it on InfiniBand only");
}

static void json_lists_all(void **state)
{
	struct operation_result results[OPERATIONS];
	struct json_object *array, *object;

	(void)state;
	set_all(results, OPERATION_OK);
	results[1] = (struct operation_result){OPERATION_FAILED, FAULT_LATE, 0, false};
	array = operations_check_json(results);
	assert_int_equal(json_object_array_length(array), OPERATIONS);
	object = json_object_array_get_idx(array, 0);
	assert_string_equal(
		json_object_get_string(json_object_object_get(object, "operation")), "SEND");
	assert_string_equal(json_object_get_string(json_object_object_get(object, "state")), "ok");
	assert_null(json_object_object_get(object, "reason"));
	object = json_object_array_get_idx(array, 1);
	assert_string_equal(
		json_object_get_string(json_object_object_get(object, "state")), "unknown");
	assert_string_equal(json_object_get_string(json_object_object_get(object, "reason")),
		"this host: did not complete in time");
	json_object_put(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_without_a_connection_are_not_tried),
		cmocka_unit_test(a_good_result_fits_one_line),
		cmocka_unit_test(unsupported_is_no_failure),
		cmocka_unit_test(a_failure_names_each_operation),
		cmocka_unit_test(what_a_healthy_host_can_do_is_unknown),
		cmocka_unit_test(what_was_not_tried_is_no_failure),
		cmocka_unit_test(verbose_lists_what_was_tried),
		cmocka_unit_test(json_lists_all),
	};

	return cmocka_run_group_tests_name("operations-check", tests, NULL, NULL);
}
