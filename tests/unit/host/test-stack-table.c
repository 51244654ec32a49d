/* The verdicts of rows and of several layers, and the table in docs/troubleshooting.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/stack-table.h"
#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

static const char *const words[] = {
	[STACK_UNKNOWN] = "unknown",
	[STACK_CARRIES] = "yes",
	[STACK_OWN_MAC] = "if it has the device's MAC address",
	[STACK_LOSES] = "no",
};

/* A stack of these kinds above the device's own interface. */
static struct interface_stack stack_of(const char *first, const char *second)
{
	struct interface_stack stack = {.complete = true};

	if (*first)
		snprintf(stack.layers[stack.count++].kind, sizeof(stack.layers[0].kind), "%s",
			first);
	if (*second)
		snprintf(stack.layers[stack.count++].kind, sizeof(stack.layers[0].kind), "%s",
			second);
	stack.count++;
	return stack;
}

static void each_row_decides(void **state)
{
	const struct stack_row *row;

	(void)state;
	for (size_t i = 0; (row = stack_table_row(i)); i++) {
		struct interface_stack stack = stack_of(row->kind, "");

		check_case(row->kind, row->verdict != STACK_UNKNOWN && *row->basis);
		check_case(row->kind, stack_table_verdict(row->driver, &stack) == row->verdict);
		stack.complete = false;
		check_case(row->kind, stack_table_verdict(row->driver, &stack) == STACK_UNKNOWN);
		for (size_t j = 0; j < i; j++)
			check_case(row->kind,
				strcmp(stack_table_row(j)->driver, row->driver) != 0 ||
					strcmp(stack_table_row(j)->kind, row->kind) != 0);
	}
}

static void the_worst_layer_decides(void **state)
{
	static const struct {
		const char *driver, *first, *second;
		enum stack_verdict verdict;
	} cases[] = {
		{"rdma_rxe", "", "", STACK_CARRIES},
		{"rdma_rxe", "bridge", "vlan", STACK_LOSES},
		{"rdma_rxe", "vlan", "bond", STACK_LOSES},
		{"rdma_rxe", "unheard", "vlan", STACK_UNKNOWN},
		{"rdma_rxe", "unheard", "bond", STACK_LOSES},
		{"rdma_rxe", "vlan", "vlan", STACK_CARRIES},
		{"unheard", "bridge", "", STACK_UNKNOWN},
		{"unheard", "", "", STACK_CARRIES},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct interface_stack stack = stack_of(cases[i].first, cases[i].second);

		assert_int_equal(stack_table_verdict(cases[i].driver, &stack), cases[i].verdict);
	}
}

static void describes(void **state)
{
	struct inventory_interface interface = {.name = "br0"};
	char text[128];

	(void)state;
	stack_table_describe("10.0.0.5", &interface, "mlx5_0", text, sizeof(text));
	assert_string_equal(text, "10.0.0.5 on br0 (mlx5_0)");
	interface.stack = stack_of("bridge", "");
	strcpy(interface.stack.layers[0].name, "br0");
	strcpy(interface.stack.layers[1].name, "eth0");
	stack_table_describe("10.0.0.5", &interface, "mlx5_0", text, sizeof(text));
	assert_string_equal(text, "10.0.0.5 on br0 (bridge) over eth0 (mlx5_0)");
	stack_table_describe("", &interface, "mlx5_0", text, 10);
	assert_string_equal(text, "br0 (brid");
}

/* An address that no device has. */
static void an_absent_device_loses_nothing(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	char text[16] = "rubbish";

	(void)state;
	assert_false(stack_table_loses(
		"/nowhere", "rxe0", (struct sockaddr *)&address, text, sizeof(text)));
	assert_string_equal(text, "");
}

/* The column of each driver in the table's lines, which name the kinds first. */
static void the_document_shows_each_row(void **state)
{
	char *text = document_read("docs/troubleshooting.md");
	char *table = strstr(text, "| address on a | rdma_rxe below");
	const struct stack_row *row;

	(void)state;
	assert_non_null(table);
	*strstr(table, "\n\n") = '\0';
	for (size_t i = 0; (row = stack_table_row(i)); i++) {
		char *place = strstr(table, row->kind);

		/* "vlan" is part of "macvlan". */
		while (place && place[-1] != ' ')
			place = strstr(place + 1, row->kind);
		assert_non_null(place);
		place = strchr(place, '|');
		if (strcmp(row->driver, "siw") == 0)
			place = strchr(place + 1, '|');
		check_case(row->kind,
			strncmp(place + 2, words[row->verdict], strlen(words[row->verdict])) == 0);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_decides),
		cmocka_unit_test(the_worst_layer_decides),
		cmocka_unit_test(describes),
		cmocka_unit_test(an_absent_device_loses_nothing),
		cmocka_unit_test(the_document_shows_each_row),
	};

	return cmocka_run_group_tests_name("stack-table", tests, NULL, NULL);
}
