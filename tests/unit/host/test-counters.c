/* Counters: read from fake ports, compared, encoded, and decoded from malformed peer data. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/counters.h"
#include "tests/unit/host/sysfs-tree-fixture.h"
#include "tests/unit/unit.h"

#define DEVICES "/sys/class/infiniband"
#define RXE     DEVICES "/rxe0/ports/1/hw_counters"
#define MLX5    DEVICES "/mlx5_0/ports/1"

static void add(struct counters *counters, const char *name, uint64_t value)
{
	struct counter *counter = &counters->list[counters->count++];

	assert_true(strlen(name) < sizeof(counter->name));
	snprintf(counter->name, sizeof(counter->name), "%s", name);
	counter->value = value;
}

static void assert_counter(const struct counters *counters, const char *name, uint64_t value)
{
	for (size_t i = 0; i < counters->count; i++)
		if (strcmp(counters->list[i].name, name) == 0) {
			assert_int_equal(counters->list[i].value, value);
			return;
		}
	fail_msg("there is no %s", name);
}

static void reads_soft_roce(void **state)
{
	const struct tree *tree = *state;
	struct counters counters;

	put(tree, RXE "/sent_pkts", "120\n");
	put(tree, RXE "/duplicate_request", "3\n");
	put(tree, RXE "/lifespan", "10\n");
	assert_int_equal(counters_read(tree->path, "rxe0", 1, &counters), 0);
	assert_int_equal(counters.count, 2);
	assert_string_equal(counters.list[0].name, "duplicate_request");
	assert_int_equal(counters.list[0].value, 3);
	assert_string_equal(counters.list[1].name, "sent_pkts");
}

static void reads_all_folders_without_duplicates(void **state)
{
	const struct tree *tree = *state;
	struct counters counters;

	put(tree, MLX5 "/hw_counters/out_of_sequence", "18446744073709551615\n");
	put(tree, MLX5 "/hw_counters/link_downed", "1\n");
	put(tree, MLX5 "/counters/link_downed", "2\n");
	put(tree, MLX5 "/counters/VL15_dropped", "4\n");
	put(tree, DEVICES "/mlx5_0/hw_counters/out_of_sequence", "5\n");
	put(tree, DEVICES "/mlx5_0/hw_counters/RNR sent", "6\n");
	put(tree, DEVICES "/mlx5_0/ports/2/counters/symbol_error", "7\n");
	assert_int_equal(counters_read(tree->path, "mlx5_0", 1, &counters), 0);
	assert_int_equal(counters.count, 4);
	assert_counter(&counters, "out_of_sequence", UINT64_MAX);
	assert_counter(&counters, "link_downed", 1);
	assert_counter(&counters, "VL15_dropped", 4);
	assert_counter(&counters, "RNR_sent", 6);
}

static void ignores_files_that_are_not_counters(void **state)
{
	const struct tree *tree = *state;
	struct counters counters;

	put(tree, RXE "/no_pma", "N/A (no PMA)\n");
	put(tree, RXE "/negative", "-1\n");
	put(tree, RXE "/empty", "");
	put(tree, RXE "/too_large", "18446744073709551616\n");
	put(tree, RXE "/evil\x1b[2J", "1\n");
	put(tree, RXE "/a_name_that_has_more_characters_than_any_counter_has", "1\n");
	put_folder(tree, RXE "/folder");
	put_link(tree, RXE "/unreadable", "nowhere");
	put(tree, RXE "/no_line_end", "7");
	assert_int_equal(counters_read(tree->path, "rxe0", 1, &counters), 0);
	assert_int_equal(counters.count, 1);
	assert_counter(&counters, "no_line_end", 7);
}

static void reads_at_most_counters_max(void **state)
{
	const struct tree *tree = *state;
	struct counters counters;
	char path[128];

	for (unsigned int i = 0; i < COUNTERS_MAX + 10; i++) {
		snprintf(path, sizeof(path), RXE "/counter_%u", i);
		put(tree, path, "1\n");
	}
	assert_int_equal(counters_read(tree->path, "rxe0", 1, &counters), 0);
	assert_int_equal(counters.count, COUNTERS_MAX);
}

static void distinguishes_idle_from_missing_ports(void **state)
{
	const struct tree *tree = *state;
	struct counters counters;
	char long_name[300];

	memset(long_name, 'a', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	put_folder(tree, DEVICES "/siw0/ports/1");
	assert_int_equal(counters_read(tree->path, "siw0", 1, &counters), 0);
	assert_int_equal(counters.count, 0);
	assert_int_equal(counters_read(tree->path, "siw0", 2, &counters), -ENODEV);
	assert_int_equal(counters_read(tree->path, "siw1", 1, &counters), -ENODEV);
	assert_int_equal(counters_read(tree->path, "", 1, &counters), -ENODEV);
	assert_int_equal(counters_read(tree->path, "../siw0", 1, &counters), -ENODEV);
	assert_int_equal(counters_read(tree->path, long_name, 1, &counters), -ENODEV);
	assert_int_equal(counters.count, 0);
}

static void compares_before_and_after(void **state)
{
	struct counters before = {0}, after = {0}, difference;

	(void)state;
	add(&before, "duplicate_request", 5);
	add(&before, "gone", 5);
	add(&before, "reset", 100);
	add(&before, "same", UINT64_MAX);
	add(&after, "duplicate_request", 8);
	add(&after, "new", 9);
	add(&after, "reset", 2);
	add(&after, "same", UINT64_MAX);
	counters_difference(&before, &after, &difference);
	assert_int_equal(difference.count, 3);
	assert_counter(&difference, "duplicate_request", 3);
	assert_counter(&difference, "reset", 2);
	assert_counter(&difference, "same", 0);
	counters_difference(&before, &after, &after);
	assert_memory_equal(&after, &difference, sizeof(after));
}

static void sums_by_class(void **state)
{
	struct counters counters = {0};

	(void)state;
	add(&counters, "duplicate_request", 3);
	add(&counters, "local_ack_timeout_err", 4);
	add(&counters, "vport_out_of_sequence", 5);
	add(&counters, "nobody_knows_me", 6);
	add(&counters, "sent_pkts", 7);
	add(&counters, "port_xmit_wait", UINT64_MAX);
	add(&counters, "np_cnp_sent", 1);
	assert_int_equal(counters_total(&counters, COUNTER_RETRANSMISSION), 4);
	assert_int_equal(counters_total(&counters, COUNTER_DUPLICATE), 3);
	assert_int_equal(counters_total(&counters, COUNTER_OUT_OF_ORDER), 5);
	assert_int_equal(counters_reordered(&counters), 5);
	assert_int_equal(counters_missing(&counters), 0);
	assert_int_equal(counters_total(&counters, COUNTER_OTHER), 13);
	assert_int_equal(counters_total(&counters, COUNTER_CONGESTION), UINT64_MAX);
	assert_int_equal(counters_total(&counters, COUNTER_RNR), 0);
}

static void describes_faults_in_one_line(void **state)
{
	struct counters counters = {0};
	char text[128];

	(void)state;
	add(&counters, "duplicate_request", 3);
	add(&counters, "nobody_knows_me", 6);
	add(&counters, "out_of_seq_request", 12);
	add(&counters, "rcvd_rnr_err", 0);
	add(&counters, "sent_pkts", 700);
	counters_describe(&counters, text, sizeof(text));
	assert_string_equal(text, "duplicate_request 3, out_of_seq_request 12");
	for (size_t size = 1; size < 60; size++) {
		/* An allocation of exactly that size exposes a write past its end. */
		char *cut = malloc(size);

		assert_non_null(cut);
		counters_describe(&counters, cut, size);
		assert_int_equal(strncmp(cut, text, size - 1), 0);
		free(cut);
	}
}

/* A class without counters is null; a class whose counters are all zero is 0. */
static void finds_the_packets(void **state)
{
	struct counters counters = {0};
	uint64_t sent = 9, received = 9;

	(void)state;
	counters_add(&counters, "sent_pkts", 3);
	assert_false(counters_packets(&counters, &sent, &received));
	counters_add(&counters, "rcvd_pkts", 0);
	assert_true(counters_packets(&counters, &sent, &received));
	assert_int_equal(sent, 3);
	assert_int_equal(received, 0);
	counters = (struct counters){0};
	counters_add(&counters, "port_xmit_packets", 5);
	counters_add(&counters, "port_rcv_packets", 7);
	assert_true(counters_packets(&counters, &sent, &received));
	assert_int_equal(sent, 5);
	assert_int_equal(received, 7);
}

static void converts_to_json(void **state)
{
	struct counters counters = {0};
	struct json_object *object;

	(void)state;
	add(&counters, "out_of_seq_request", 12);
	add(&counters, "rcvd_pkts", UINT64_MAX);
	add(&counters, "rcvd_seq_err", 3);
	add(&counters, "link_downed", 0);
	object = counters_json(&counters);
	assert_non_null(object);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		"{\"all\":{\"out_of_seq_request\":12,\"rcvd_pkts\":18446744073709551615,"
		"\"rcvd_seq_err\":3,\"link_downed\":0},\"retransmissions\":null,"
		"\"duplicates\":null,\"out_of_order\":15,\"receiver_not_ready\":null,\"congestion\":null,"
		"\"link_errors\":0,\"request_errors\":null}");
	json_object_put(object);
}

static void decodes_encoded_counters(void **state)
{
	struct counters counters = {0}, received;
	char text[COUNTERS_TEXT_MAX];
	size_t length;

	(void)state;
	assert_int_equal(counters_encode(&counters, text, sizeof(text)), 0);
	assert_int_equal(counters_decode(text, 0, &received), 0);
	assert_int_equal(received.count, 0);
	add(&counters, "VL15_dropped", 0);
	add(&counters, "duplicate_request", UINT64_MAX);
	add(&counters, "sent_pkts", 1);
	length = counters_encode(&counters, text, sizeof(text));
	assert_int_equal(counters_decode(text, length, &received), 0);
	assert_memory_equal(&received, &counters, sizeof(received));
}

static void encodes_important_counters_first(void **state)
{
	static const char expected[] = "duplicate_request 3\naaa 1\nsent_pkts 7\n";
	struct counters counters = {0};

	(void)state;
	add(&counters, "aaa", 1);
	add(&counters, "duplicate_request", 3);
	add(&counters, "sent_pkts", 7);
	for (size_t size = 0; size < sizeof(expected) + 8; size++) {
		char *text = malloc(size + 1);
		size_t length;

		assert_non_null(text);
		length = counters_encode(&counters, text, size);
		assert_true(length <= size);
		assert_true(length == 0 || text[length - 1] == '\n');
		if (size >= sizeof(expected) - 1)
			assert_int_equal(length, sizeof(expected) - 1);
		if (size >= 20)
			assert_memory_equal(text, expected, 20);
		if (size >= sizeof(expected) - 1)
			assert_memory_equal(text, expected, length);
		free(text);
	}
}

static void encodes_as_many_as_fit(void **state)
{
	struct counters counters = {0}, received;
	char text[COUNTERS_TEXT_MAX], name[COUNTER_NAME_SIZE];
	size_t length;

	(void)state;
	for (unsigned int i = 0; i < COUNTERS_MAX; i++) {
		snprintf(name, sizeof(name), "a_long_name_of_some_counter_or_other_%u", i);
		add(&counters, name, UINT64_MAX);
	}
	length = counters_encode(&counters, text, sizeof(text));
	assert_true(length <= sizeof(text) && length > sizeof(text) - 100);
	assert_int_equal(counters_decode(text, length, &received), 0);
	assert_true(received.count > 50 && received.count < COUNTERS_MAX);
}

static void refuses_malformed_lists(void **state)
{
	static const char *const bad[] = {"\n", " \n", "a\n", "a \n", " 1\n", "a 1", "a 1\nb 2",
		"a 1\n\n", "\na 1\n", "a  1\n", "a 1 \n", "a\t1\n", "a -1\n", "a +1\n", "a 1.5\n",
		"a 0x1\n", "a 1k\n", "a 18446744073709551616\n",
		"a 99999999999999999999999999999\n", "a 1\r\n", "a b 1\n", "a 1 2\n", "a-b 1\n",
		"a/b 1\n", "\x1b[2J 1\n", "\xff 1\n", "\xc3\xa4 1\n", "a 1\na 2\n", "%s 1\n",
		"a 1\nb x\n", "a_name_that_has_more_characters_than_any_counter_has 1\n"};
	struct counters counters;

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		size_t length = strlen(bad[i]);
		char *text = malloc(length);

		assert_non_null(text);
		memcpy(text, bad[i], length);
		memset(&counters, 0xa5, sizeof(counters));
		check_case(bad[i], counters_decode(text, length, &counters) == -EBADMSG);
		check_case(bad[i], counters.count == 0);
		free(text);
	}
	assert_int_equal(counters_decode("a\0b 1\n", 6, &counters), -EBADMSG);
	assert_int_equal(counters_decode("a 1\0\n", 5, &counters), -EBADMSG);
}

static void refuses_long_lists(void **state)
{
	char *text = malloc(COUNTERS_TEXT_MAX + 1);
	struct counters counters;
	size_t length = 0;

	(void)state;
	assert_non_null(text);
	for (unsigned int i = 0; i < COUNTERS_MAX; i++)
		length += (size_t)sprintf(text + length, "c%u 1\n", i);
	assert_int_equal(counters_decode(text, length, &counters), 0);
	assert_int_equal(counters.count, COUNTERS_MAX);
	length += (size_t)sprintf(text + length, "one_more 1\n");
	assert_int_equal(counters_decode(text, length, &counters), -EBADMSG);

	/* Leading zeros are valid, but text longer than COUNTERS_TEXT_MAX is not. */
	memset(text, '0', COUNTERS_TEXT_MAX + 1);
	text[0] = 'a';
	text[1] = ' ';
	text[COUNTERS_TEXT_MAX - 1] = '\n';
	assert_int_equal(counters_decode(text, COUNTERS_TEXT_MAX, &counters), 0);
	text[COUNTERS_TEXT_MAX - 1] = '0';
	text[COUNTERS_TEXT_MAX] = '\n';
	assert_int_equal(counters_decode(text, COUNTERS_TEXT_MAX + 1, &counters), -EBADMSG);
	free(text);
}

/* Every list that the decoder accepts is well-formed and encodes and decodes unchanged. */
static void survives_damaged_lists(void **state)
{
	static const char good[] = "duplicate_request 3\nVL15_dropped 18446744073709551615\nx 0\n";
	struct counters counters, again;
	char text[sizeof(good)], copy[COUNTERS_TEXT_MAX];
	unsigned int taken = 0, seed = 1;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		memcpy(text, good, sizeof(text));
		for (unsigned int j = 0; j <= i % 3; j++) {
			seed = seed * 1103515245 + 12345;
			text[(seed >> 8) % (sizeof(text) - 1)] = (char)(seed >> 20);
		}
		if (counters_decode(text, sizeof(text) - 1, &counters))
			continue;
		taken++;
		assert_true(counters.count <= 4);
		assert_int_equal(counters_decode(copy,
					 counters_encode(&counters, copy, sizeof(copy)), &again),
			0);
		assert_memory_equal(&again, &counters, sizeof(again));
	}
	assert_true(taken > 0 && taken < 20000);
}

static void every_row_is_found(void **state)
{
	static char names[256][COUNTER_NAME_SIZE];
	const struct counter_row *row;
	char name[COUNTER_NAME_SIZE + 8];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; (row = counter_row(i)); i++) {
		char *copy = strdup(row->names), *rest = copy, *next;

		assert_non_null(copy);
		check_case(row->names, row->class < COUNTER_OTHER);
		while ((next = strsep(&rest, " "))) {
			check_case(next, *next && counter_class(next) == row->class);
			check_case(next, strlen(next) < COUNTER_NAME_SIZE);
			for (size_t j = 0; j < count; j++)
				check_case(next, strcmp(next, names[j]) != 0);
			snprintf(name, sizeof(name), "vport_%s", next);
			check_case(name, counter_class(name) == row->class);
			assert_true(count < COUNT(names));
			strcpy(names[count++], next);
		}
		free(copy);
	}
	assert_true(count > 100);
	assert_int_equal(counter_class("nobody_knows_me"), COUNTER_OTHER);
	/* A partial name, and two names in one string. */
	assert_int_equal(counter_class("send_er"), COUNTER_OTHER);
	assert_int_equal(counter_class("send_err link_downed"), COUNTER_OTHER);
	assert_int_equal(counter_class(""), COUNTER_OTHER);
}

static void every_class_has_counters(void **state)
{
	bool seen[COUNTER_OTHER] = {false};
	const struct counter_row *row;

	(void)state;
	for (size_t i = 0; (row = counter_row(i)); i++)
		seen[row->class] = true;
	for (size_t i = 0; i < COUNT(seen); i++)
		assert_true(seen[i]);
}

/* A port whose error counters are all zero is not a port without error counters. */
static void distinguishes_no_errors_from_no_counters(void **state)
{
	struct counters counters = {0};
	char text[64], small[5];

	(void)state;
	assert_false(counters_include_faults(&counters));
	counters_describe(&counters, text, sizeof(text));
	assert_string_equal(text, "no error counters");
	add(&counters, "port_rcv_data", 7);
	add(&counters, "nobody_knows_me", 7);
	assert_false(counters_include_faults(&counters));
	counters_describe(&counters, text, sizeof(text));
	assert_string_equal(text, "no error counters");
	add(&counters, "out_of_seq_request", 0);
	assert_true(counters_include_faults(&counters));
	counters_describe(&counters, text, sizeof(text));
	assert_string_equal(text, "no errors");
	counters.list[2].value = 3;
	counters_describe(&counters, text, sizeof(text));
	assert_string_equal(text, "out_of_seq_request 3");
	counters_describe(&counters, small, sizeof(small));
	assert_string_equal(small, "out_");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(reads_soft_roce),
		with_tree(reads_all_folders_without_duplicates),
		with_tree(ignores_files_that_are_not_counters),
		with_tree(reads_at_most_counters_max),
		with_tree(distinguishes_idle_from_missing_ports),
		cmocka_unit_test(compares_before_and_after),
		cmocka_unit_test(sums_by_class),
		cmocka_unit_test(describes_faults_in_one_line),
		cmocka_unit_test(distinguishes_no_errors_from_no_counters),
		cmocka_unit_test(finds_the_packets),
		cmocka_unit_test(converts_to_json),
		cmocka_unit_test(decodes_encoded_counters),
		cmocka_unit_test(encodes_important_counters_first),
		cmocka_unit_test(encodes_as_many_as_fit),
		cmocka_unit_test(refuses_malformed_lists),
		cmocka_unit_test(refuses_long_lists),
		cmocka_unit_test(survives_damaged_lists),
		cmocka_unit_test(every_row_is_found),
		cmocka_unit_test(every_class_has_counters),
	};

	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
