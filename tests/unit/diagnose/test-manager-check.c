/* The decision about the connection manager of this host: what is dead, and what is only late. */
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/diagnosis.h"
#include "diagnose/manager-check.h"
#include "tests/unit/common/inventory-fixture.h"
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

static struct host host;
static struct diagnosis diagnosis;
static struct options options;

/* The managers of these devices are dead: mlx5_0 is device 0, rxe0 device 1. */
static void make_diagnosis(uint64_t dead, const char *only)
{
	make_host(&host);
	strcpy(host.devices[1].parent, "eth0");
	memset(&diagnosis, 0, sizeof(diagnosis));
	memset(&options, 0, sizeof(options));
	options.device = only;
	check_list_init(&diagnosis.list, diagnose_checks, "");
	diagnosis.options = &options;
	diagnosis.inventory = host.inventory;
	diagnosis.dead_managers = dead;
}

static void a_dead_device_among_others_is_a_warning(void **state)
{
	(void)state;
	make_diagnosis(2, NULL);
	assert_int_equal(manager_judge_dead(&diagnosis), 0);
	assert_string_equal(diagnosis.list.checks[CHECK_MANAGER].warning,
		"rxe0 no longer answers connection requests, not even its own");
	make_diagnosis(0, NULL);
	assert_int_equal(manager_judge_dead(&diagnosis), 0);
	assert_string_equal(diagnosis.list.checks[CHECK_MANAGER].warning, "");
}

static void a_dead_device_without_others_is_a_failure(void **state)
{
	(void)state;
	/* The other one is not to be used, or its ports are down. */
	make_diagnosis(2, "rxe0");
	assert_int_equal(manager_judge_dead(&diagnosis), -1);
	assert_int_equal(diagnosis.list.checks[CHECK_MANAGER].failure.code, HOST_MANAGER_DEAD);
	assert_string_equal(
		diagnosis.list.checks[CHECK_MANAGER].failure.evidence, "rxe0, interface eth0");
	make_diagnosis(2, NULL);
	strcpy(host.ports[0].state, "DOWN");
	assert_int_equal(manager_judge_dead(&diagnosis), 0);
	strcpy(host.ports[1].state, "DOWN");
	assert_int_equal(manager_judge_dead(&diagnosis), -1);
	make_diagnosis(3, NULL);
	assert_int_equal(manager_judge_dead(&diagnosis), -1);
}

static void the_route_needs_a_device_that_answers(void **state)
{
	(void)state;
	make_diagnosis(2, NULL);
	diagnosis.device = &host.devices[0];
	assert_int_equal(manager_check_route(&diagnosis), 0);
	diagnosis.device = &host.devices[1];
	assert_int_equal(manager_check_route(&diagnosis), -1);
	assert_int_equal(diagnosis.list.checks[CHECK_ROUTE].failure.code, HOST_MANAGER_DEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_answer_will_do),
		cmocka_unit_test(a_device_that_receives_nothing_is_dead),
		cmocka_unit_test(silence_alone_proves_nothing),
		cmocka_unit_test(a_dead_device_among_others_is_a_warning),
		cmocka_unit_test(a_dead_device_without_others_is_a_failure),
		cmocka_unit_test(the_route_needs_a_device_that_answers),
	};

	return cmocka_run_group_tests_name("manager-check", tests, NULL, NULL);
}
