/* What every JSON document begins with. */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <time.h>

#include "base/envelope.h"
#include "base/json-document.h"
#include "base/version.h"
#include "tests/unit/unit.h"

static struct envelope example(const struct failure *failure)
{
	return (struct envelope){
		.program = "rdma-client",
		.command = "latency",
		.status = STATUS_CONNECT,
		.verdict = "failed",
		.message = "a \"sentence\"",
		.failure = failure,
	};
}

/* Removes the time, after checking that it is now, give or take a minute. */
static void take_time(struct json_object *object)
{
	struct json_object *value;
	struct tm utc = {0};
	const char *end;

	assert_true(json_object_object_get_ex(object, "time", &value));
	end = strptime(json_object_get_string(value), "%Y-%m-%dT%H:%M:%SZ", &utc);
	assert_non_null(end);
	assert_string_equal(end, "");
	assert_in_range(timegm(&utc) + 60 - time(NULL), 0, 60);
	json_object_object_del(object, "time");
}

static void check_document(const struct envelope *envelope, const char *expected)
{
	struct json_object *object = envelope_json(envelope);

	assert_non_null(object);
	take_time(object);
	assert_string_equal(document_line(object), expected);
	json_object_put(object);
}

#define START \
	"{\"schema\":5,\"program\":\"rdma-client\",\"version\":\"" PROJECT_VERSION \
	"\",\"command\":\"latency\",\"status\":3,\"verdict\":\"failed\","

static void says_what_failed(void **state)
{
	struct failure failure = {0};
	struct envelope envelope = example(&failure);

	(void)state;
	failure_set(&failure, FAILURE_ERRNO, PHASE_ADDRESS, ETIMEDOUT, "connect", "seen");
	check_document(&envelope,
		START "\"message\":\"a \\\"sentence\\\"\",\"error\":{"
		      "\"cause\":\"the host does not reply to ARP or neighbour discovery\","
		      "\"guess\":true,\"evidence\":\"seen\","
		      "\"side\":\"the other host or the path to it\","
		      "\"fix\":\"check that it is up and on the same subnet and VLAN\"}}");
}

/* A failure of this kind has only its evidence. */
static void the_evidence_may_be_the_cause(void **state)
{
	struct failure failure = {0};
	struct envelope envelope = example(&failure);

	(void)state;
	failure_set(&failure, FAILURE_ERRNO, PHASE_ADDRESS, EXDEV, "connect", "seen");
	check_document(&envelope,
		START "\"message\":\"a \\\"sentence\\\"\",\"error\":{\"cause\":\"seen\","
		      "\"guess\":false,\"evidence\":null,\"side\":\"this host\",\"fix\":null}}");
}

static void there_may_be_no_failure(void **state)
{
	struct failure none = {0};
	struct envelope envelope = example(&none);

	(void)state;
	envelope.message = NULL;
	check_document(&envelope, START "\"message\":null,\"error\":null}");
	envelope.failure = NULL;
	check_document(&envelope, START "\"message\":null,\"error\":null}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_failed),
		cmocka_unit_test(the_evidence_may_be_the_cause),
		cmocka_unit_test(there_may_be_no_failure),
	};

	return cmocka_run_group_tests_name("envelope", tests, NULL, NULL);
}
