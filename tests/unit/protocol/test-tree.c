/* The wire format of a tree stream's entries, and the entries and names that are refused. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "protocol/attributes.h"
#include "protocol/tree.h"
#include "tests/unit/unit.h"

static const struct tree_entry entries[] = {
	{.kind = TREE_START, .size = 0x0102030405060708},
	{.kind = TREE_FOLDER,
		.mode = 0755,
		.seconds = -1,
		.nanoseconds = 999999999,
		.name_size = 255},
	{.kind = TREE_FILE, .mode = 0640, .seconds = INT64_MAX, .size = INT64_MAX, .name_size = 1},
	{.kind = TREE_LINK, .mode = 0777, .size = TREE_LINK_MAX, .name_size = 9},
	{.kind = TREE_LEAVE},
	{.kind = TREE_HARD_LINK, .size = TREE_LINK_MAX, .name_size = 255},
	{.kind = TREE_SPARSE, .mode = 0640, .size = INT64_MAX, .name_size = 1},
	{.kind = TREE_ATTRIBUTES, .size = ATTRIBUTES_MAX},
	{.kind = TREE_WITHDRAWN},
};

static void an_entry_survives_encoding(void **state)
{
	uint8_t header[TREE_HEADER_SIZE];
	struct tree_entry got;

	(void)state;
	for (size_t i = 0; i < COUNT(entries); i++) {
		memset(header, 0xee, sizeof(header));
		tree_encode(&entries[i], header);
		assert_int_equal(tree_decode(&got, header), 0);
		assert_int_equal(got.kind, entries[i].kind);
		assert_int_equal(got.mode, entries[i].mode);
		assert_int_equal(got.seconds, entries[i].seconds);
		assert_int_equal(got.nanoseconds, entries[i].nanoseconds);
		assert_int_equal(got.size, entries[i].size);
		assert_int_equal(got.name_size, entries[i].name_size);
	}
}

static void the_layout_is_the_published_one(void **state)
{
	static const uint8_t published[TREE_HEADER_SIZE] = {3, 4, 0xa4, 1, 0x15, 0xcd, 0x5b, 7,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0x10};
	const struct tree_entry entry = {.kind = TREE_FILE,
		.name_size = 4,
		.mode = 0644,
		.nanoseconds = 123456789,
		.seconds = 0x1122334455667788,
		.size = 4096};
	uint8_t header[TREE_HEADER_SIZE];

	(void)state;
	tree_encode(&entry, header);
	assert_memory_equal(header, published, sizeof(header));
}

/* The start says what follows, in fields that release 0.1 sets to 0 and does not read. */
static void the_start_counts_the_stream(void **state)
{
	struct tree_entry entry = {.kind = TREE_START, .size = 4096}, got;
	uint8_t header[TREE_HEADER_SIZE];

	(void)state;
	assert_int_equal(tree_start_total(&entry), 0);
	assert_int_equal(tree_start_files(&entry), 0);
	tree_start_count(&entry, INT64_MAX, 999999999);
	tree_encode(&entry, header);
	assert_int_equal(tree_decode(&got, header), 0);
	assert_int_equal(tree_start_total(&got), INT64_MAX);
	assert_int_equal(tree_start_files(&got), 999999999);
	/* What does not fit is unknown, and so is what no sender can mean. */
	tree_start_count(&entry, (uint64_t)INT64_MAX + 1, 1000000000);
	assert_int_equal(tree_start_total(&entry), 0);
	assert_int_equal(tree_start_files(&entry), 0);
	entry.seconds = -1;
	assert_int_equal(tree_start_total(&entry), 0);
}

static void invalid_entries_are_refused(void **state)
{
	static const struct tree_entry invalid[] = {
		{.kind = 0},
		{.kind = TREE_HARD_LINK + 1},
		{.kind = TREE_HARD_LINK, .name_size = 1},
		{.kind = TREE_HARD_LINK, .name_size = 1, .size = TREE_LINK_MAX + 1},
		{.kind = TREE_HARD_LINK, .size = 1},
		{.kind = TREE_SPARSE, .name_size = 1},
		{.kind = TREE_SPARSE, .size = 1},
		{.kind = TREE_START, .name_size = 1},
		{.kind = TREE_START, .size = (uint64_t)INT64_MAX + 1},
		{.kind = TREE_FOLDER},
		{.kind = TREE_FOLDER, .name_size = 1, .size = 1},
		{.kind = TREE_FOLDER, .name_size = 1, .mode = 01000},
		{.kind = TREE_FOLDER, .name_size = 1, .nanoseconds = 1000000000},
		{.kind = TREE_FILE, .size = 1},
		{.kind = TREE_FILE, .name_size = 1, .mode = 04755},
		{.kind = TREE_FILE, .name_size = 1, .size = UINT64_MAX},
		{.kind = TREE_LINK, .name_size = 1},
		{.kind = TREE_LINK, .size = 1},
		{.kind = TREE_LINK, .name_size = 1, .size = TREE_LINK_MAX + 1},
		{.kind = TREE_LEAVE, .name_size = 1},
		{.kind = TREE_LEAVE, .size = 1},
		{.kind = TREE_ATTRIBUTES},
		{.kind = TREE_ATTRIBUTES, .size = ATTRIBUTES_MAX + 1},
		{.kind = TREE_ATTRIBUTES, .size = 1, .name_size = 1},
		{.kind = TREE_WITHDRAWN, .size = 1},
		{.kind = TREE_WITHDRAWN, .name_size = 1},
		{.kind = TREE_WITHDRAWN + 1},
	};
	uint8_t header[TREE_HEADER_SIZE];
	struct tree_entry got;

	(void)state;
	for (size_t i = 0; i < COUNT(invalid); i++) {
		tree_encode(&invalid[i], header);
		assert_int_equal(tree_decode(&got, header), -EPROTO);
	}
}

static void runs_fit_in_their_file(void **state)
{
	static const uint8_t published[TREE_RUN_SIZE] = {8, 7, 6, 5, 4, 3, 2, 1, 0, 0x10};
	static const struct {
		struct tree_run run;
		uint64_t left;
		bool fits;
	} cases[] = {
		{{0, 1}, 1, true},
		{{0, 1}, 2, true},
		{{1, 0}, 1, true},
		{{0, 0}, 0, true}, /* no file is empty */
		{{1, 0}, 2, false},
		{{0, 0}, 1, false},
		{{2, 0}, 1, false},
		{{0, 2}, 1, false},
		{{5, 6}, 10, false},
		{{UINT64_MAX, 2}, 10, false},
		{{INT64_MAX - 1, 1}, INT64_MAX, true},
	};
	uint8_t bytes[TREE_RUN_SIZE];
	struct tree_run run = {.hole = 0x0102030405060708, .data = 4096};

	(void)state;
	tree_run_encode(&run, bytes);
	assert_memory_equal(bytes, published, sizeof(bytes));
	for (size_t i = 0; i < COUNT(cases); i++) {
		tree_run_encode(&cases[i].run, bytes);
		assert_int_equal(
			tree_run_decode(&run, bytes, cases[i].left), cases[i].fits ? 0 : -EPROTO);
		assert_int_equal(run.hole, cases[i].run.hole);
		assert_int_equal(run.data, cases[i].run.data);
	}
}

static void a_name_has_a_single_component(void **state)
{
	(void)state;
	assert_int_equal(tree_check_name("a", 1), 0);
	assert_int_equal(tree_check_name("...", 3), 0);
	assert_int_equal(tree_check_name(".x", 2), 0);
	assert_int_equal(tree_check_name("..x", 3), 0);
	assert_int_equal(tree_check_name("", 0), -EPROTO);
	assert_int_equal(tree_check_name(".", 1), -EPROTO);
	assert_int_equal(tree_check_name("..", 2), -EPROTO);
	assert_int_equal(tree_check_name("a/b", 3), -EPROTO);
	assert_int_equal(tree_check_name("/", 1), -EPROTO);
	assert_int_equal(tree_check_name("a\0b", 3), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_survives_encoding),
		cmocka_unit_test(the_layout_is_the_published_one),
		cmocka_unit_test(the_start_counts_the_stream),
		cmocka_unit_test(invalid_entries_are_refused),
		cmocka_unit_test(runs_fit_in_their_file),
		cmocka_unit_test(a_name_has_a_single_component),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
