/* See mesh/agent-test.h. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/json-document.h"
#include "copy/reach.h"
#include "mesh/agent-test.h"
#include "mesh/wire.h"
#include "protocol/command.h"

/* Of the warm-up; it also leaves time for choosing how to wait. */
#define WARM_UP "0.1"

/* What a client may need in addition to its test and its timeout: to start, to connect, to end. */
#define SLACK_MS 15000

#define MESSAGE_SIZE 512
#define NUMBER_SIZE  32

bool agent_test_read(struct agent_test *test, struct json_object *request)
{
	char kind[16];

	*test = (struct agent_test){0};
	if (!wire_number(request, "test", 0, UINT32_MAX, &test->number) ||
		!wire_text(request, "kind", kind, sizeof(kind)) ||
		!wire_text(request, "addresses", test->addresses, sizeof(test->addresses)) ||
		!wire_number(request, "port", 1, UINT16_MAX, &test->port) ||
		!wire_number(request, "size", 1, COMMAND_REGION_MAX, &test->size) ||
		!wire_number(request, "duration_ms", 1, AGENT_TEST_MS_MAX, &test->milliseconds) ||
		!wire_number(request, "timeout_ms", 1, AGENT_TEST_MS_MAX, &test->timeout_ms))
		return false;
	wire_text(request, "device", test->device, sizeof(test->device));
	test->latency = strcmp(kind, "latency") == 0;
	return test->latency || strcmp(kind, "bandwidth") == 0;
}

int agent_test_start(struct agent_test *test, int secret, struct child *child)
{
	const char *device = *test->device ? test->device : NULL;
	char program[4096], port[NUMBER_SIZE], size[NUMBER_SIZE], duration[NUMBER_SIZE];
	char timeout[NUMBER_SIZE];
	const char *words[24];
	int count = 0;

	*child = CHILD_NONE;
	if (reach_choose(test->addresses, device, test->address) == REACH_INVALID)
		return -EADDRNOTAVAIL;
	child_own_program("rdma-client", program, sizeof(program));
	snprintf(port, sizeof(port), "%" PRIu64, test->port);
	snprintf(size, sizeof(size), "%" PRIu64, test->size);
	snprintf(duration, sizeof(duration), "%.3f", (double)test->milliseconds / 1000);
	snprintf(timeout, sizeof(timeout), "%.3f", (double)test->timeout_ms / 1000);
	words[count++] = program;
	words[count++] = test->latency ? "latency" : "bandwidth";
	words[count++] = "write";
	words[count++] = test->address;
	words[count++] = port;
	words[count++] = "--json";
	words[count++] = "--secret-file";
	words[count++] = CHILD_PASSED_PATH;
	words[count++] = "--size";
	words[count++] = size;
	words[count++] = "--duration";
	words[count++] = duration;
	words[count++] = "--warm-up";
	words[count++] = WARM_UP;
	words[count++] = "--timeout";
	words[count++] = timeout;
	if (device) {
		words[count++] = "--device";
		words[count++] = device;
	}
	words[count] = NULL;
	test->deadline =
		deadline_in((int64_t)(test->milliseconds + 2 * test->timeout_ms) + SLACK_MS);
	return child_start(child, words, false, true, secret);
}

/* Copies a number of the document, if it is one. */
static void copy_number(struct json_object *message, const char *key, struct json_object *object,
	const char *member)
{
	uint64_t number;

	if (wire_number(object, member, 1, UINT64_MAX, &number))
		document_add_number(message, key, number);
}

/* Adds what a successful test measured. */
static void add_results(struct json_object *message, struct json_object *document)
{
	struct json_object *results = document_member(document, "results"), *first;
	struct json_object *latency;

	if (!json_object_is_type(results, json_type_array) || !json_object_array_length(results))
		return;
	first = json_object_array_get_idx(results, 0);
	latency = document_member(first, "latency_ns");
	copy_number(message, "median_ns", latency, "median");
	copy_number(message, "p99_ns", latency, "p99");
	if (!latency)
		copy_number(message, "bytes_per_second", first, "bytes_per_second");
	copy_number(message, "link_bytes_per_second", document, "link_bytes_per_second");
}

/* Adds the sentence about a failure, made safe for the wire and shortened. */
static void add_message(struct json_object *message, const char *text)
{
	char line[MESSAGE_SIZE];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	text_printable(line);
	document_add_text(message, "message", line);
}

static void describe(struct json_object *message, const struct child *child)
{
	struct json_object *document = wire_parse(child->text, strcspn(child->text, "\n"));
	struct json_object *sentence = document_member(document, "message");
	const char *text = child->error_text;

	add_results(message, document);
	if (json_object_is_type(sentence, json_type_string))
		text = json_object_get_string(sentence);
	if (child->status != 0)
		add_message(message, *text ? text : "rdma-client printed nothing");
	json_object_put(document);
}

struct json_object *agent_test_result(
	const struct agent_test *test, const struct child *child, int error)
{
	struct json_object *message = json_object_new_object();
	char text[MESSAGE_SIZE];

	document_add_number(message, "result", test->number);
	document_add_number(
		message, "status", child ? (uint64_t)child->status : (uint64_t)STATUS_FAILED);
	document_add_text(message, "address", test->address);
	if (child) {
		describe(message, child);
	} else {
		snprintf(text, sizeof(text), "%s",
			error == -EADDRNOTAVAIL ? "the other host has no RDMA address"
			: error == -ETIMEDOUT   ? "the test did not end in time"
						: strerror(-error));
		add_message(message, text);
	}
	return document_filled(message);
}
