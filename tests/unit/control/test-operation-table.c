/* The table of operations is complete. test-operations.c runs its functions. */
#include "control/operation-table.h"
#include "tests/unit/control/operations-device.h"

/* Receives that are posted must be judged, and what must be refused must be judged, too. */
static void rows_are_complete(void **state)
{
	(void)state;
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		const struct operation_row *row = &operation_rows[operation];
		const char *name = operation_name(operation);

		check_case(name, row->lack && row->post);
		check_case(name, row->queue < OPERATION_QUEUES);
		check_case(name, row->receives == 0 || (row->prepare && row->judge_there));
		check_case(name, row->refused_step == 0 || row->judge);
	}
}

/* What breaks its queue pair on purpose has it alone. */
static void what_breaks_a_queue_pair_has_its_own(void **state)
{
	(void)state;
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		for (enum operation other = 0; other < operation; other++)
			check_case(operation_name(operation),
				operation_rows[operation].refused_step == 0 ||
					operation_rows[operation].queue !=
						operation_rows[other].queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_complete),
		cmocka_unit_test(what_breaks_a_queue_pair_has_its_own),
	};

	return cmocka_run_group_tests_name("operation-table", tests, NULL, NULL);
}
