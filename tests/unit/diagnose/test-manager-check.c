/* The decision about the connection manager of this host: what is dead, and what is only late. */
#include "diagnose/manager-check.h"
#include "tests/unit/unit.h"

static void any_answer_will_do(void **state)
{
	struct manager_record record = {0};

	(void)state;
	assert_int_equal(manager_record(&record, false, true, 0), MANAGER_SILENT);
	assert_int_equal(manager_record(&record, true, true, 1), MANAGER_ANSWERS);
}

static void a_device_that_receives_nothing_is_dead(void **state)
{
	struct manager_record record = {0};

	(void)state;
	/* Packets for other queue pairs may arrive at first. */
	assert_int_equal(manager_record(&record, false, true, 7), MANAGER_SILENT);
	assert_int_equal(manager_record(&record, false, true, 0), MANAGER_SILENT);
	assert_int_equal(manager_record(&record, false, true, 0), MANAGER_DEAD);
}

/* A busy host receives the requests, but is late to answer. */
static void silence_alone_proves_nothing(void **state)
{
	struct manager_record busy = {0}, uncounted = {0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(manager_record(&busy, false, true, 1), MANAGER_SILENT);
		assert_int_equal(manager_record(&uncounted, false, false, 0), MANAGER_SILENT);
	}
	assert_int_equal(manager_record(&busy, false, true, 1), MANAGER_UNKNOWN);
	assert_int_equal(manager_record(&uncounted, false, false, 0), MANAGER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_answer_will_do),
		cmocka_unit_test(a_device_that_receives_nothing_is_dead),
		cmocka_unit_test(silence_alone_proves_nothing),
	};

	return cmocka_run_group_tests_name("manager-check", tests, NULL, NULL);
}
