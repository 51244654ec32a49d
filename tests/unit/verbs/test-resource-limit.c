/* Which errors a limit of a control group explains, with the control groups replaced. */
#include <stdio.h>
#include <string.h>

#include "host/control-group.h"
#include "tests/unit/unit.h"
#include "verbs/resource-limit.h"

static bool limited, unseen;

bool control_group_is_unseen(const char *root)
{
	assert_string_equal(root, "");
	return unseen;
}

bool control_group_limits(const char *root, const char *device, char *text, size_t size)
{
	assert_string_equal(root, "");
	snprintf(text, size, "the group of %s", device ? device : "any");
	return limited;
}

bool control_group_is_full(const char *root, char *text, size_t size)
{
	assert_string_equal(root, "");
	snprintf(text, size, "the group");
	return limited;
}

/* In a container, only the errno shows that something is limited. */
static void an_unseen_group_may_be_the_limit(void **state)
{
	struct failure failure = {0};

	(void)state;
	limited = false;
	unseen = true;
	assert_false(resource_limit_is_reached("rxe0", PHASE_ADDRESS, "call", EPERM, &failure));
	assert_true(resource_limit_is_reached("rxe0", PHASE_MEMORY, "call", EAGAIN, &failure));
	assert_int_equal(failure.code, HOST_REFUSES);
	unseen = false;
}

static void a_limit_explains_a_missing_thread(void **state)
{
	char text[64];

	(void)state;
	limited = true;
	resource_limit_of_threads(EAGAIN, text, sizeof(text));
	assert_string_equal(text, "Resource temporarily unavailable (the group)");
	resource_limit_of_threads(ENOMEM, text, sizeof(text));
	assert_string_equal(text, "Cannot allocate memory");
	limited = false;
	resource_limit_of_threads(EAGAIN, text, sizeof(text));
	assert_string_equal(text, "Resource temporarily unavailable");
}

static void a_limit_explains_a_refusal(void **state)
{
	static const struct {
		enum phase phase;
		int error;
		bool explains;
	} cases[] = {
		{PHASE_QUEUE_PAIR, EAGAIN, true},
		{PHASE_MEMORY, EAGAIN, true},
		{PHASE_ADDRESS, EPERM, true},
		{PHASE_QUEUE_PAIR, EPERM, false},
		{PHASE_QUEUE_PAIR, ENOMEM, false},
		{PHASE_ADDRESS, ENODEV, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct failure failure = {0};

		limited = true;
		assert_int_equal(resource_limit_is_reached(
					 "rxe0", cases[i].phase, "call", cases[i].error, &failure),
			cases[i].explains);
		assert_int_equal(failure_is_set(&failure), cases[i].explains);
		if (cases[i].explains) {
			assert_int_equal(failure.code, HOST_CONTROL_GROUP);
			assert_string_equal(failure.evidence, "the group of rxe0");
		}
		limited = false;
		assert_false(resource_limit_is_reached(
			NULL, cases[i].phase, "call", cases[i].error, &failure));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_limit_explains_a_refusal),
		cmocka_unit_test(a_limit_explains_a_missing_thread),
		cmocka_unit_test(an_unseen_group_may_be_the_limit),
	};

	return cmocka_run_group_tests_name("resource-limit", tests, NULL, NULL);
}
