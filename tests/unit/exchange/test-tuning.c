/* The text that describes how a connection uses the hardware. */
#include <string.h>

#include "exchange/tuning.h"
#include "tests/unit/unit.h"

static void names_everything(void **state)
{
	/* Processors 0 to 3 and 6 of node 1. */
	static const struct locality node = {.node = 1, .restricted = true, .processors = {{0x4f}}};
	static const struct locality anywhere = {.node = -1};
	struct tuning tuning = {
		.dscp = 26,
		.relaxed_ordering = true,
		.huge_incoming = true,
		.locality = &node,
		.vector = 3,
	};
	char text[TUNING_TEXT];

	(void)state;
	tuning_text(text, &tuning);
	assert_string_equal(text, "DSCP 26, relaxed ordering on, huge pages for incoming data, "
				  "NUMA node 1, processors 0-3,6, completion vector 3");
	tuning.huge_outgoing = true;
	tuning_text(text, &tuning);
	assert_non_null(strstr(text, "huge pages on"));
	tuning = (struct tuning){.dscp = -1, .locality = &anywhere};
	tuning_text(text, &tuning);
	assert_string_equal(text, "DSCP unknown, relaxed ordering off, huge pages off, "
				  "NUMA node unknown, processors any, completion vector 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_everything),
	};

	return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
