/* What a failed registration says, with the locked-memory limit as this test sets it. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/resource.h>

#include "host/locked-memory.h"
#include "host/memory-budget.h"
#include "tests/unit/unit.h"
#include "verbs/memory.h"
#include "verbs/resource-limit.h"

#define SIZE 65536

static rlim_t limit; /* bytes */
static bool exempt;

/* These override the C library, libibverbs, host/locked-memory.c and two modules of verbs/. */
int getrlimit(__rlimit_resource_t resource, struct rlimit *result)
{
	assert_int_equal(resource, RLIMIT_MEMLOCK);
	*result = (struct rlimit){.rlim_cur = limit, .rlim_max = limit};
	return 0;
}

bool locked_memory_is_exempt(const char *root)
{
	assert_string_equal(root, "");
	return exempt;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	(void)pd;
	(void)address;
	(void)length;
	(void)access;
	errno = ENOMEM;
	return NULL;
}

struct ibv_mr *ibv_reg_mr_iova2(
	struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, address, length, (int)access);
}

bool resource_limit_is_reached(
	const char *device, enum phase phase, const char *call, int error, struct failure *failure)
{
	(void)device;
	(void)phase;
	(void)call;
	(void)error;
	(void)failure;
	return false;
}

static void the_limit_is_blamed_only_if_it_applies(void **state)
{
	static const struct {
		rlim_t limit;
		bool exempt;
		int code;
		const char *evidence;
	} cases[] = {
		{8192, false, ENOMEM,
			"Cannot allocate memory; needed 64 KiB more, the limit is 8 KiB"},
		{8192, true, CODE_NO_MEMORY, "Cannot allocate memory; needed 64 KiB more"},
		{RLIM_INFINITY, false, CODE_NO_MEMORY,
			"Cannot allocate memory; needed 64 KiB more"},
	};
	uint8_t memory[SIZE] = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct region region = {.start = memory, .size = SIZE, .mapped = SIZE};
		struct failure failure = {0};

		limit = cases[i].limit;
		exempt = cases[i].exempt;
		assert_int_equal(region_register(&region, NULL, &failure), -1);
		assert_int_equal(failure.phase, PHASE_MEMORY);
		assert_int_equal(failure.code, cases[i].code);
		assert_string_equal(failure.evidence, cases[i].evidence);
	}
}

static void what_can_be_locked_is_what_the_limit_leaves(void **state)
{
	(void)state;
	limit = 8192;
	exempt = false;
	assert_int_equal(memory_lockable(), 8192);
	exempt = true;
	assert_int_equal(memory_lockable(), memory_budget_left());
	limit = RLIM_INFINITY;
	exempt = false;
	assert_int_equal(memory_lockable(), memory_budget_left());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_is_blamed_only_if_it_applies),
		cmocka_unit_test(what_can_be_locked_is_what_the_limit_leaves),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
