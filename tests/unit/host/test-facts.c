/* Facts that client and server exchange: encoded, decoded, compared and converted to JSON. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "host/facts.h"
#include "tests/unit/unit.h"

static void decodes_encoded_facts(void **state)
{
	struct facts facts = {0}, back;
	char text[4096];
	size_t size;

	(void)state;
	facts_add(&facts, "version", "%d.%d", 0, 1);
	facts_add(&facts, "link layer", "Ethernet: copper");
	facts_add(&facts, "empty", "%s", "");
	size = facts_encode(&facts, text, sizeof(text));
	assert_int_equal(size, strlen("version: 0.1\nlink layer: Ethernet: copper\nempty: \n"));
	assert_int_equal(facts_decode(&back, text, size), 0);
	assert_int_equal(back.count, 3);
	assert_string_equal(facts_value(&back, "version"), "0.1");
	assert_string_equal(facts_value(&back, "link layer"), "Ethernet: copper");
	assert_string_equal(facts_value(&back, "empty"), "");
	assert_null(facts_value(&back, "link"));
}

static void truncates_long_facts(void **state)
{
	struct facts facts = {0};
	char text[100], many[200];

	(void)state;
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	for (unsigned int i = 0; i < FACTS_MAX + 5; i++)
		facts_add(&facts, many, "%s", many);
	assert_int_equal(facts.count, FACTS_MAX);
	assert_int_equal(strlen(facts.facts[0].name), FACT_NAME_SIZE - 1);
	assert_int_equal(strlen(facts.facts[0].value), FACT_VALUE_SIZE - 1);
	/* The encoder writes whole lines only. */
	assert_int_equal(facts_encode(&facts, text, sizeof(text)), 0);
}

static void refuses_malformed_facts(void **state)
{
	static const struct {
		const char *text;
		int result;
		unsigned int count;
	} cases[] = {
		{"", 0, 0},
		{"a: 1", 0, 1},
		{"a:1\nb:\n", 0, 2},
		{"a", -EPROTO, 0},
		{": 1\n", -EPROTO, 0},
		{"a: 1\n\nb: 2\n", -EPROTO, 0},
		{"a: \033[31m\a\n", 0, 1},
	};
	char text[8 * (FACTS_MAX + 1)] = "";
	struct facts facts;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(facts_decode(&facts, cases[i].text, strlen(cases[i].text)),
			cases[i].result);
		if (cases[i].result == 0)
			assert_int_equal(facts.count, cases[i].count);
	}
	assert_string_equal(facts_value(&facts, "a"), "?[31m?");
	for (unsigned int i = 0; i < FACTS_MAX; i++)
		snprintf(text + strlen(text), 8, "n: 1\n");
	assert_int_equal(facts_decode(&facts, text, strlen(text)), 0);
	snprintf(text + strlen(text), 8, "n: 1\n");
	assert_int_equal(facts_decode(&facts, text, strlen(text)), -EPROTO);
}

/* A zero byte would truncate a name or a value. */
static void refuses_a_zero_byte(void **state)
{
	static const char texts[][6] = {"\0a: 1", "a\0: 1", "a: 1\0", "a: 1\n"};
	struct facts facts;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++)
		assert_int_equal(facts_decode(&facts, texts[i], sizeof(texts[i])), -EPROTO);
}

/* Random bytes in an allocation that ends one byte after them. */
static void survives_random_bytes(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		size_t size = i % 64;
		char *bytes = malloc(size + 1);
		struct facts facts;

		assert_non_null(bytes);
		for (size_t at = 0; at < size; at++) {
			random = random * 1664525 + 1013904223;
			bytes[at] = "a:\n \xff\0b:"[random >> 29];
		}
		facts_decode(&facts, bytes, size);
		for (unsigned int at = 0; at < facts.count; at++)
			for (const char *byte = facts.facts[at].value; *byte; byte++)
				assert_in_range(*byte, ' ', '~');
		free(bytes);
	}
}

static void compares_both_sides(void **state)
{
	static const struct {
		const char *name, *ours, *theirs;
		bool differ;
	} expected[] = {
		{"version", "1", "1", false},
		{"device", "mlx5_0", "rxe0", false}, /* device names may differ */
		{"rdma mtu", "1024", "4096", true},
		{"here only", "x", NULL, false},
		{"there only", NULL, "y", false},
	};
	struct facts ours = {0}, theirs = {0};
	const char *name, *our_value, *their_value;
	unsigned int index = 0;
	bool differ;

	(void)state;
	facts_add(&ours, "version", "1");
	facts_add(&ours, "device", "mlx5_0");
	facts_add(&ours, "rdma mtu", "1024");
	facts_add(&ours, "here only", "x");
	facts_add(&theirs, "there only", "y");
	facts_add(&theirs, "rdma mtu", "4096");
	facts_add(&theirs, "version", "1");
	facts_add(&theirs, "device", "rxe0");
	for (; (name = facts_compare(&ours, &theirs, index, &our_value, &their_value, &differ));
		index++) {
		assert_true(index < COUNT(expected));
		assert_string_equal(name, expected[index].name);
		assert_true(!our_value == !expected[index].ours);
		assert_true(!their_value == !expected[index].theirs);
		assert_true(differ == expected[index].differ);
	}
	assert_int_equal(index, COUNT(expected));
}

static void converts_to_json(void **state)
{
	struct facts facts = {0};
	struct json_object *object;

	(void)state;
	facts_add(&facts, "rdma mtu", "1024");
	facts_add(&facts, "a b c", "\"quoted\"");
	facts_add(&facts, "max size", "18446744073709551616");
	facts_add(&facts, "reads asked", "-1");
	facts_add(&facts, "rate", "2.5 Gb/sec (1X SDR)");
	facts_add(&facts, "numa node", "1");
	facts_add(&facts, "thread numa node", "0");
	object = facts_json(&facts);
	assert_string_equal(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN),
		"{\"rdma_mtu\":1024,\"a_b_c\":\"\\\"quoted\\\"\",\"max_size\":null,"
		"\"reads_asked\":null,\"rate\":\"2.5 Gb\\/sec (1X SDR)\",\"numa_node\":1,"
		"\"thread_numa_node\":0,\"megabits\":2500}");
	json_object_put(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_encoded_facts),
		cmocka_unit_test(truncates_long_facts),
		cmocka_unit_test(refuses_malformed_facts),
		cmocka_unit_test(refuses_a_zero_byte),
		cmocka_unit_test(survives_random_bytes),
		cmocka_unit_test(compares_both_sides),
		cmocka_unit_test(converts_to_json),
	};

	return cmocka_run_group_tests_name("facts", tests, NULL, NULL);
}
