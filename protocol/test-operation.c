/* The table of measured operations. */
#include <string.h>

#include "protocol/test-operation.h"

const struct test_operation test_operations[TEST_OPERATIONS] = {
	[TEST_WRITE] = {.number = TEST_WRITE, .name = "write", .word = "WRITE"},
	[TEST_READ] = {TEST_READ, "read", "READ", .fetches = true},
	[TEST_FETCH_ADD] = {TEST_FETCH_ADD, "fetch-add", "fetch-and-add", .fetches = true,
		.atomic = true},
	[TEST_COMPARE_SWAP] = {TEST_COMPARE_SWAP, "compare-swap", "compare-and-swap",
		.fetches = true, .atomic = true},
	[TEST_SEND] = {TEST_SEND, "send", "SEND", .receives = true},
	[TEST_WRITE_IMM] = {TEST_WRITE_IMM, "write-imm", "WRITE with immediate data",
		.receives = true, .immediate = true},
};

const struct test_operation *test_operation_by_name(const char *name)
{
	for (size_t i = 0; i < TEST_OPERATIONS; i++)
		if (strcmp(test_operations[i].name, name) == 0)
			return &test_operations[i];
	return NULL;
}

const struct test_operation *test_operation_by_number(unsigned int number)
{
	return number < TEST_OPERATIONS ? &test_operations[number] : NULL;
}

bool test_operation_is_silent(const struct test_operation *operation)
{
	return !operation->fetches && !operation->receives;
}
