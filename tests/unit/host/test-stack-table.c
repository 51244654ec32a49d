/* The verdicts of rows and of several layers, and the table in docs/troubleshooting.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/stack-table.h"
#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

/* The words of the document. */
static const char *const words[] = {
	[STACK_UNKNOWN] = "",
	[STACK_CARRIES] = "yes",
	[STACK_OWN_MAC] = "MAC",
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

/* Only where the MAC address decides, and differs. */
static void another_mac_matters(void **state)
{
	struct interface_stack stack = stack_of("bridge", "");

	(void)state;
	strcpy(stack.layers[0].hardware, "02:00:00:00:00:03");
	strcpy(stack.layers[1].hardware, "02:00:00:00:00:02");
	assert_true(stack_table_needs_mac("mlx5_core", &stack));
	assert_false(stack_table_needs_mac("rdma_rxe", &stack));
	assert_false(stack_table_needs_mac("unheard", &stack));
	strcpy(stack.layers[0].hardware, stack.layers[1].hardware);
	assert_false(stack_table_needs_mac("mlx5_core", &stack));
	strcpy(stack.layers[0].hardware, "02:00:00:00:00:03");
	strcpy(stack.layers[0].kind, "macvlan");
	assert_false(stack_table_needs_mac("mlx5_core", &stack));
	assert_true(stack_table_needs_mac("bnxt_en", &stack));
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

/* The cell in the line of this kind and the column of this driver, of a table whose lines end. */
static void read_cell(const char *table, const char *kind, const char *driver, char cell[16])
{
	char line_start[32];
	const char *heading = strstr(table, driver), *place;
	unsigned int column = 0;

	*cell = '\0';
	snprintf(line_start, sizeof(line_start), "\n| %s |", kind);
	place = strstr(table, line_start);
	if (!heading || heading > strchr(table, '\n') || !place)
		return;
	for (const char *c = table; c < heading; c++)
		column += *c == '|';
	for (place++; column > 0; place++)
		column -= *place == '|';
	sscanf(place, " %15[^| ]", cell);
}

/* Every row is in the table, and nothing else. */
static void the_document_shows_each_row(void **state)
{
	static const char *const drivers[] = {
		"rdma_rxe", "siw", "mlx5_core", "mlx4_core", "bnxt_en", "ice"};
	static const char *const kinds[] = {
		"vlan", "bridge", "bond", "team", "macvlan", "ipvlan", "vxlan"};
	char *text = document_read("docs/troubleshooting.md");
	char *table = strstr(text, "| address on a |");
	size_t shown = 0, rows = 0;

	(void)state;
	assert_non_null(table);
	*strstr(table, "\n\n") = '\0';
	for (size_t i = 0; i < COUNT(drivers); i++)
		for (size_t j = 0; j < COUNT(kinds); j++) {
			struct interface_stack stack = stack_of(kinds[j], "");
			enum stack_verdict verdict = stack_table_verdict(drivers[i], &stack);
			char cell[16];

			read_cell(table, kinds[j], drivers[i], cell);
			assert_string_equal(cell, words[verdict]);
			shown += *cell != '\0';
		}
	while (stack_table_row(rows))
		rows++;
	assert_int_equal(shown, rows);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_decides),
		cmocka_unit_test(the_worst_layer_decides),
		cmocka_unit_test(another_mac_matters),
		cmocka_unit_test(describes),
		cmocka_unit_test(an_absent_device_loses_nothing),
		cmocka_unit_test(the_document_shows_each_row),
	};

	return cmocka_run_group_tests_name("stack-table", tests, NULL, NULL);
}
