/*
 * The lines between an agent and its coordinator: what is sent arrives, what is wrong is refused.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json-document.h"
#include "mesh/wire.h"
#include "tests/unit/unit.h"

static struct wire ours;
static int theirs;

static int open_wire(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	theirs = ends[1];
	return wire_open(&ours, ends[0]);
}

static int close_wire(void **state)
{
	(void)state;
	wire_close(&ours);
	wire_close(&ours);
	return close(theirs);
}

static void say(const char *bytes, size_t size)
{
	assert_int_equal(send(theirs, bytes, size, 0), (ssize_t)size);
}

static struct json_object *hear(const char *text, int *error)
{
	say(text, strlen(text));
	assert_int_equal(wire_read(&ours), 0);
	return wire_next(&ours, error);
}

static void test_objects(void **state)
{
	struct json_object *object;
	uint64_t number;
	char text[8];
	int error;

	(void)state;
	assert_null(hear("{\"a\":1,\"b\":\"te", &error));
	assert_int_equal(error, 0);
	object = hear("xt\"}\n{\"a\":2}\n{\"a\"", &error);
	assert_true(wire_number(object, "a", 0, 1, &number) && number == 1);
	assert_true(wire_text(object, "b", text, sizeof(text)));
	assert_string_equal(text, "text");
	json_object_put(object);
	object = wire_next(&ours, &error);
	assert_false(wire_number(object, "a", 0, 1, &number));
	assert_true(wire_number(object, "a", 0, 2, &number));
	json_object_put(object);
	assert_null(wire_next(&ours, &error));
	assert_int_equal(error, 0);
}

static void test_members(void **state)
{
	static const char line[] = "{\"long\":\"12345678\",\"control\":\"a\\u001bb\",\"zero\":"
				   "\"a\\u0000b\",\"negative\":-1,\"real\":1.5,\"null\":null}";
	struct json_object *object = wire_parse(line, strlen(line));
	uint64_t number;
	char text[8];

	(void)state;
	assert_non_null(object);
	assert_false(wire_text(object, "long", text, sizeof(text)));
	assert_false(wire_text(object, "control", text, sizeof(text)));
	assert_false(wire_text(object, "zero", text, sizeof(text)));
	assert_false(wire_text(object, "null", text, sizeof(text)));
	assert_false(wire_text(object, "none", text, sizeof(text)));
	assert_false(wire_number(object, "negative", 0, UINT64_MAX, &number));
	assert_false(wire_number(object, "real", 0, UINT64_MAX, &number));
	assert_false(wire_number(object, "null", 0, UINT64_MAX, &number));
	assert_false(wire_number(NULL, "null", 0, UINT64_MAX, &number));
	json_object_put(object);
}

static void test_no_objects(void **state)
{
	static const char *const lines[] = {"", "1", "[]", "{", "{}}", "{} {}", "x",
		"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}"};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		check_case(lines[i], !wire_parse(lines[i], strlen(lines[i])));
	assert_null(wire_parse("{}\0{}", 5));
}

static void test_wrong_line(void **state)
{
	int error;

	(void)state;
	assert_null(hear("garbage\n", &error));
	assert_int_equal(error, -EPROTO);
}

static void test_endless_line(void **state)
{
	char bytes[4096];
	int error;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	for (size_t i = 0; i < WIRE_LINE_MAX; i += sizeof(bytes)) {
		say(bytes, sizeof(bytes));
		assert_int_equal(wire_read(&ours), 0);
		assert_null(wire_next(&ours, &error));
	}
	assert_int_equal(wire_read(&ours), -EMSGSIZE);
}

static void test_end(void **state)
{
	(void)state;
	assert_int_equal(wire_read(&ours), 0);
	shutdown(theirs, SHUT_WR);
	assert_int_equal(wire_read(&ours), -EPIPE);
}

/* A peer that reads nothing costs a queue, and no more. */
static void test_queue(void **state)
{
	static char text[8192];
	int error = 0, sent = 0;
	char byte;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	while (!error) {
		struct json_object *object = json_object_new_object();

		document_add_text(object, "text", text);
		error = wire_send(&ours, object);
		assert_true(++sent < 10000);
	}
	assert_int_equal(error, -ENOBUFS);
	assert_int_equal(recv(theirs, &byte, 1, 0), 1);
	assert_int_equal(byte, '{');
	while (recv(theirs, text, sizeof(text), MSG_DONTWAIT) > 0)
		assert_int_equal(wire_flush(&ours), 0);
	assert_int_equal(ours.out_used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_objects, open_wire, close_wire),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_no_objects),
		cmocka_unit_test_setup_teardown(test_wrong_line, open_wire, close_wire),
		cmocka_unit_test_setup_teardown(test_endless_line, open_wire, close_wire),
		cmocka_unit_test_setup_teardown(test_end, open_wire, close_wire),
		cmocka_unit_test_setup_teardown(test_queue, open_wire, close_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
