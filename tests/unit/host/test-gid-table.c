/*
 * The valid entries of a GID table, which the functions of libibverbs replaced here report.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/gid-table.h"
#include "tests/unit/unit.h"

/* A device with two ports of four entries each. */
static struct ibv_device devices[2];
static struct ibv_context context;
static bool can_open;
static ssize_t answer;
static int opened;

struct ibv_device **ibv_get_device_list(int *number)
{
	static struct ibv_device *list[] = {&devices[0], &devices[1], NULL};

	if (number)
		*number = 2;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	assert_non_null(list);
}

/* cppcheck-suppress constParameter ; the library defines the signature */
const char *ibv_get_device_name(struct ibv_device *device)
{
	return device == &devices[0] ? "rxe0" : "rxe1";
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	assert_ptr_equal(device, &devices[1]);
	opened += can_open;
	return can_open ? &context : NULL;
}

int ibv_close_device(struct ibv_context *closed)
{
	assert_ptr_equal(closed, &context);
	opened--;
	return 0;
}

int ibv_query_device(struct ibv_context *asked, struct ibv_device_attr *attributes)
{
	assert_ptr_equal(asked, &context);
	attributes->phys_port_cnt = 2;
	return 0;
}

#undef ibv_query_port
int ibv_query_port(
	struct ibv_context *asked, uint8_t port, struct _compat_ibv_port_attr *attributes)
{
	assert_ptr_equal(asked, &context);
	assert_in_range(port, 1, 2);
	((struct ibv_port_attr *)attributes)->gid_tbl_len = 4;
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *asked, struct ibv_gid_entry *entries, size_t size,
	uint32_t flags, size_t entry_size)
{
	static const struct ibv_gid_entry valid[] = {
		{.port_num = 1, .gid_index = 0},
		{.port_num = 1, .gid_index = 3},
		{.port_num = 2, .gid_index = 1},
	};

	assert_ptr_equal(asked, &context);
	assert_int_equal(size, 8);
	assert_int_equal(flags, 0);
	assert_int_equal(entry_size, sizeof(valid[0]));
	memcpy(entries, valid, sizeof(valid));
	return answer;
}

static int reset(void **state)
{
	(void)state;
	can_open = true;
	answer = 3;
	opened = 0;
	return 0;
}

static void lists_the_valid_entries_of_a_port(void **state)
{
	uint32_t *indices;

	(void)state;
	assert_int_equal(gid_table_indices("rxe1", 1, &indices), 2);
	assert_int_equal(indices[0], 0);
	assert_int_equal(indices[1], 3);
	free(indices);
	assert_int_equal(gid_table_indices("rxe1", 2, &indices), 1);
	assert_int_equal(indices[0], 1);
	free(indices);
	assert_int_equal(opened, 0);
}

static void an_empty_table_is_no_failure(void **state)
{
	uint32_t *indices;

	(void)state;
	answer = 0;
	assert_int_equal(gid_table_indices("rxe1", 1, &indices), 0);
	free(indices);
}

static void failures_are_reported(void **state)
{
	uint32_t *indices;

	(void)state;
	assert_int_equal(gid_table_indices("mlx5_0", 1, &indices), -1);
	assert_null(indices);
	answer = -EOPNOTSUPP;
	assert_int_equal(gid_table_indices("rxe1", 1, &indices), -1);
	assert_null(indices);
	can_open = false;
	assert_int_equal(gid_table_indices("rxe1", 1, &indices), -1);
	assert_null(indices);
	assert_int_equal(opened, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lists_the_valid_entries_of_a_port, reset),
		cmocka_unit_test_setup(an_empty_table_is_no_failure, reset),
		cmocka_unit_test_setup(failures_are_reported, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
