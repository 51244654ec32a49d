/* JSON reports and summary lines. A third-party validator checks the documents against the schema.
 * Runs from the top of the source tree, as `make check` does. */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "base/version.h"
#include "cli/options.h"
#include "exchange/report.h"
#include "stream/pace.h"
#include "tests/unit/common/schema-fixture.h"
#include "tests/unit/unit.h"

#define DIGEST \
	{ \
		{ \
			0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, \
				0x89, 0xab, 0xcd, 0xef \
		} \
	}
#define HASH "0123456789abcdef0123456789abcdef"

/* Processors 0 to 3 and 6 of node 1. */
static const struct locality locality = {.node = 1, .restricted = true, .processors = {{0x4f}}};

static const struct tuning tuning = {
	.dscp = 26,
	.relaxed_ordering = true,
	.huge_incoming = true,
	.locality = &locality,
	.vector = 3,
};

static const struct locality anywhere = {.node = -1};

static const struct tuning untuned = {.dscp = -1, .locality = &anywhere};

static const struct memory_budget unlimited = {
	.size = UINT64_MAX, .available = {.bytes = UINT64_MAX, .source = "this host"}};

static const struct memory_budget chosen = {.size = 1 << 30, .chosen = true, .used = 7 << 20};

static const struct report verified = {
	.program = "rdma-client",
	.mode = "write",
	.device = "rxe_eth0",
	.peer = "10.77.0.1:7471",
	.peer_device = "mlx5_0/1",
	.seconds = 2.5,
	.chunk = 1048576,
	.depth = 16,
	.tuning = &tuning,
	.sent = {.bytes = 0, .digest = DIGEST, .complete = true},
	.received = {.bytes = 209715200,
		.digest = DIGEST,
		.name = "big.iso",
		.path = "in/big.iso",
		.complete = true},
};

static const struct failure unreachable = {.kind = FAILURE_ERRNO,
	.phase = PHASE_ADDRESS,
	.code = EXDEV,
	.call = "connect",
	.evidence = "seen"};

static const struct failure corrupted = {
	.kind = FAILURE_DAMAGED, .phase = PHASE_EXCHANGE, .call = "compare"};

/* Failed early: only the use of a secret is known. */
static const struct report failed = {
	.program = "rdma-server",
	.secret = true,
	.mode = "any",
	.status = STATUS_CONNECT,
	.failure = &unreachable,
	.message = "cannot connect to \"/x\": \\x1b",
	.memory = &unlimited,
};

static const struct report damaged = {
	.program = "rdma-server",
	.mode = "read",
	.device = "mlx5_0",
	.peer = "[fe80::1%eth0]:7471",
	.status = STATUS_DAMAGED,
	.failure = &corrupted,
	.message = "the exchange failed",
	.seconds = 86400.123456,
	.chunk = UINT32_MAX,
	.depth = 1,
	.tuning = &untuned,
	.memory = &chosen,
	/* A digest of an incomplete stream, which is not valid. */
	.sent = {.bytes = UINT64_MAX, .digest = DIGEST, .name = "\xff\n\"gr\xc3\xb6\xc3\x9fter/\\"},
	.received = {.bytes = 1, .digest = DIGEST, .name = "", .complete = true},
};

/* Returns the document without its time as one line, which the caller frees. */
static char *timeless_json_of(const struct report *report)
{
	struct json_object *object = report_json(report);
	const char *line;
	char *text;

	json_object_object_del(object, "time");
	line = document_line(object);
	assert_non_null(line);
	text = strdup(line);
	assert_non_null(text);
	json_object_put(object);
	return text;
}

/* Returns the document as one line, which the caller frees. */
static char *json_of(const struct report *report)
{
	struct json_object *object = report_json(report);
	const char *line = document_line(object);
	char *text;

	assert_non_null(line);
	text = strdup(line);
	assert_non_null(text);
	json_object_put(object);
	return text;
}

static void contains_every_member(void **state)
{
	char *text = timeless_json_of(&verified);

	(void)state;
	assert_string_equal(text,
		"{\"schema\":5,\"program\":\"rdma-client\",\"version\":\"" PROJECT_VERSION
		"\",\"command\":\"write\",\"status\":0,\"verdict\":\"verified\","
		"\"message\":null,\"error\":null,\"mode\":\"write\",\"device\":\"rxe_eth0\","
		"\"peer\":\"10.77.0.1:7471\",\"peer_device\":\"mlx5_0/1\",\"secret\":false,\"digest\":\"XXH3\",\"seconds\":2.500000,"
		"\"chunk\":1048576,\"depth\":16,"
		"\"tuning\":{\"dscp\":26,\"relaxed_ordering\":true,\"outgoing_huge_pages\":false,"
		"\"incoming_huge_pages\":true,\"numa_node\":1,\"processors\":\"0-3,6\","
		"\"completion_vector\":3},\"memory\":null,"
		"\"sent\":{\"bytes\":0,\"resumed_at\":0,\"hash\":\"" HASH
		"\",\"rate\":0,\"name\":null,\"path\":null,\"entries\":null,\"there\":null,\"skipped\":null,\"unreadable\":null,\"attributes_lost\":null,\"check_seconds\":0.000000,\"pace\":null},"
		"\"received\":{\"bytes\":209715200,\"resumed_at\":0,\"hash\":\"" HASH
		"\",\"rate\":83886080,"
		"\"name\":\"big.iso\",\"path\":\"in/big.iso\",\"entries\":null,\"there\":null,\"skipped\":null,\"unreadable\":null,\"attributes_lost\":null,\"check_seconds\":0.000000,\"pace\":null}}");
	free(text);
}

static void names_what_limits_a_stream(void **state)
{
	const struct pace pace = {.workers = 4,
		.block = 524288,
		.spent = {[PACE_FILE] = 610, [PACE_DIGEST] = 300, [PACE_LINK] = 90}};
	struct report report = verified;
	struct json_object *json;

	(void)state;
	report.sent.pace = &pace;
	report.sent.ring = 6815744;
	json = report_json(&report);
	assert_non_null(json);
	assert_non_null(strstr(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN),
		"\"pace\":{\"workers\":4,\"block\":524288,\"ring\":6815744,\"file\":0.610,"
		"\"digest\":0.300,\"link\":0.090}},\"received\""));
	json_object_put(json);
}

static void reports_null_for_unknown_values(void **state)
{
	char *text = timeless_json_of(&failed);

	(void)state;
	assert_string_equal(text,
		"{\"schema\":5,\"program\":\"rdma-server\",\"version\":\"" PROJECT_VERSION
		"\",\"command\":\"any\",\"status\":3,\"verdict\":\"failed\","
		"\"message\":\"cannot connect to \\\"/x\\\": \\\\x1b\",\"error\":{\"cause\":\"seen\","
		"\"guess\":false,\"evidence\":null,\"side\":\"this host\",\"fix\":null},"
		"\"mode\":\"any\",\"device\":null,\"peer\":null,\"peer_device\":null,"
		"\"secret\":true,\"digest\":\"Poly1305-BLAKE2b\",\"seconds\":0.000000,\"chunk\":0,\"depth\":0,\"tuning\":null,"
		"\"memory\":{\"budget\":null,\"used\":0,\"source\":\"this host\"},"
		"\"sent\":{\"bytes\":0,\"resumed_at\":0,\"hash\":null,\"rate\":null,\"name\":null,\"path\":null,\"entries\":null,\"there\":null,\"skipped\":null,\"unreadable\":null,\"attributes_lost\":null,\"check_seconds\":0.000000,\"pace\":null},"
		"\"received\":{\"bytes\":0,\"resumed_at\":0,\"hash\":null,\"rate\":null,\"name\":null,\"path\":null,\"entries\":null,\"there\":null,\"skipped\":null,\"unreadable\":null,\"attributes_lost\":null,\"check_seconds\":0.000000,\"pace\":null}}");
	free(text);
}

static void reports_a_verdict_for_each_status(void **state)
{
	static const char *const verdicts[] = {
		[STATUS_OK] = "\"status\":0,\"verdict\":\"verified\",",
		[STATUS_FAILED] = "\"status\":1,\"verdict\":\"failed\",",
		[STATUS_USAGE] = "\"status\":2,\"verdict\":\"failed\",",
		[STATUS_CONNECT] = "\"status\":3,\"verdict\":\"failed\",",
		[STATUS_PEER] = "\"status\":4,\"verdict\":\"failed\",",
		[STATUS_DAMAGED] = "\"status\":5,\"verdict\":\"damaged\",",
	};

	(void)state;
	for (unsigned int status = 0; status < COUNT(verdicts); status++) {
		struct report report = verified;
		char *text;

		report.status = (enum exit_status)status;
		text = json_of(&report);
		assert_non_null(strstr(text, verdicts[status]));
		free(text);
	}
}

static void summarizes_messages(void **state)
{
	struct report report = verified;
	char text[128];

	(void)state;
	report.seconds = 0.002;
	report_messages(text, sizeof(text), &report, "rxe0/1");
	assert_string_equal(text, "verified both ways by WRITE in 2 ms: rxe0/1 here, "
				  "mlx5_0/1 at 10.77.0.1:7471");
	report.mode = "read";
	report.peer_device = NULL;
	report_messages(text, sizeof(text), &report, "rxe0/1");
	assert_string_equal(
		text, "verified both ways by READ in 2 ms: rxe0/1 here, with 10.77.0.1:7471");
	report_messages(text, 10, &report, "rxe0/1");
	assert_string_equal(text, "verified ");
}

static void escapes_any_name(void **state)
{
	char *text = json_of(&damaged);
	struct json_object *object = json_tokener_parse(text), *sent, *value;

	(void)state;
	assert_true(json_object_object_get_ex(object, "sent", &sent));
	assert_true(json_object_object_get_ex(sent, "name", &value));
	assert_string_equal(json_object_get_string(value), "\\xff\\x0a\"gr\xc3\xb6\xc3\x9fter/\\");
	assert_true(json_object_object_get_ex(sent, "bytes", &value));
	assert_true(json_object_get_uint64(value) == UINT64_MAX);
	assert_true(json_object_object_get_ex(sent, "hash", &value));
	assert_null(value);
	/* The document is still a single line. */
	assert_null(strchr(text, '\n'));
	json_object_put(object);
	free(text);
}

static void shows_no_rate_without_a_duration(void **state)
{
	static const struct {
		double seconds;
		uint64_t bytes;
		const char *seconds_text, *rate_text;
	} cases[] = {
		{0, 5, "\"seconds\":0.000000,", "\"rate\":null,"},
		{-1, 5, "\"seconds\":0.000000,", "\"rate\":null,"},
		{NAN, 5, "\"seconds\":0.000000,", "\"rate\":null,"},
		{INFINITY, 5, "\"seconds\":0.000000,", "\"rate\":null,"},
		{1e-300, UINT64_MAX, "\"seconds\":0.000000,", "\"rate\":null,"},
		{1, UINT64_MAX, "\"seconds\":1.000000,", "\"rate\":null,"},
		{2, UINT64_MAX, "\"seconds\":2.000000,", "\"rate\":9223372036854775808,"},
		{3, 5, "\"seconds\":3.000000,", "\"rate\":2,"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct report report = verified;
		char *text;

		report.seconds = cases[i].seconds;
		report.received.bytes = cases[i].bytes;
		text = json_of(&report);
		assert_non_null(strstr(text, cases[i].seconds_text));
		assert_non_null(strstr(strstr(text, "\"received\":"), cases[i].rate_text));
		free(text);
	}
}

static void matches_the_schema(void **state)
{
	static const struct report *const reports[] = {&verified, &failed, &damaged};
	char *texts, *text;
	size_t size;
	FILE *stream;

	(void)state;
	stream = open_memstream(&texts, &size);
	assert_non_null(stream);
	for (size_t i = 0; i < COUNT(reports); i++) {
		text = json_of(reports[i]);
		fprintf(stream, "%s\n", text);
		free(text);
	}
	fclose(stream);
	schema_check(texts);
	free(texts);
}

/* Without this, matches_the_schema() would prove nothing. */
static void schema_rejects_invalid_documents(void **state)
{
	static const struct schema_case cases[] = {
		{"\"depth\":16,", ""},
		{"\"depth\":16,", "\"depth\":16,\"width\":3,"},
		{"\"dscp\":26", "\"dscp\":64"},
		{"\"processors\":\"0-3,6\"", "\"processors\":\"\""},
		{"\"completion_vector\":3", "\"completion_vector\":null"},
		{"\"rate\":0,", ""},
		{"\"rate\":0,", "\"rate\":0,\"speed\":0,"},
		{"\"rate\":0,", "\"rate\":NaN,"},
		{"\"schema\":5", "\"schema\":4"},
		{"\"secret\":false", "\"secret\":true"},
		{"\"status\":0", "\"status\":4"},
		{"\"command\":\"write\"", "\"command\":\"latency\""},
		{"\"verified\"", "\"damaged\""},
		{"\"bytes\":0", "\"bytes\":-1"},
		{"\"bytes\":0", "\"bytes\":0.5"},
		{HASH, "0123"},
		{"big.iso", "\xff"},
	};
	char *text = json_of(&verified);

	(void)state;
	schema_check_refuses(text, cases, COUNT(cases));
	free(text);
}

/* What a stream, a time and a name are printed as. */
static const struct {
	struct report_stream stream;
	bool secret;
	double seconds;
	const char *path, *text;
} summaries[] = {
	{{209715200, 0, DIGEST, "big.iso", "in/big.iso", 0, false, true, 0, 0, 0, 0, false, false,
		 NULL, NULL, 0, NULL, NULL, NULL, 0},
		false, 2.51, "in/big.iso",
		": 209,715,200 bytes (209.7 MB) by WRITE in 2.5 s, 83.6 MB/s, verified, XXH3 " HASH},
	{{1048576, 0, DIGEST, NULL, NULL, 0, false, false, 0, 0, 0, 0, false, false, NULL, NULL, 0,
		 NULL, NULL, NULL, 0},
		false, 0.25, "data",
		": 1,048,576 bytes (1.0 MB) by WRITE in 250 ms, 4.2 MB/s, incomplete"},
	{{1, 0, DIGEST, NULL, NULL, 0, false, true, 0, 0, 0, 0, false, false, NULL, NULL, 0, NULL,
		 NULL, NULL, 0},
		false, 0, "data", ": 1 byte by WRITE in 0 ms, verified, XXH3 " HASH},
	{{1, 0, DIGEST, NULL, NULL, 0, false, true, 0, 0, 0, 0, false, false, NULL, NULL, 0, NULL,
		 NULL, NULL, 0},
		true, 0, "data", ": 1 byte by WRITE in 0 ms, verified, Poly1305-BLAKE2b " HASH},
	{{0, 0, DIGEST, "b", "a\xff\n\xc3\xb6", 0, false, false, 0, 0, 0, 0, false, false, NULL,
		 NULL, 0, NULL, NULL, NULL, 0},
		false, NAN, "a\\xff\\x0a\xc3\xb6", ": 0 bytes by WRITE in 0 ms, incomplete"},
	{{2100400000, 0, DIGEST, "a", "in/a", 3, false, true, 5000, 0, 2100000000, 0, false, false,
		 NULL, NULL, 0, NULL, NULL, NULL, 0},
		false, 0, "in/a and 2 more (5,000 files, 2.10 GB)",
		" by WRITE in 0 ms, verified, XXH3 " HASH},
	{{5, 0, DIGEST, "a", "in/a", 1, false, true, 1, 0, 4, 0, false, false, NULL, NULL, 0, NULL,
		 NULL, NULL, 0},
		false, 0, "in/a (1 file, 4 B)", " by WRITE in 0 ms, verified, XXH3 " HASH},
	{{2400000, 0, DIGEST, "a", "in/a", 1, false, true, 0, 0, 0, 0, false, false, NULL, NULL, 0,
		 NULL, NULL, NULL, 0},
		false, 2.0, "in/a (0 files, 0 B)", " by WRITE in 2.0 s, verified, XXH3 " HASH},
	{{5, 0, DIGEST, "a", "a", 3000, false, true, 3000, 0, 4, 0, false, false, NULL, NULL, 0,
		 NULL, NULL, NULL, 0},
		false, 0, "a and 2,999 more (3,000 files, 4 B)",
		" by WRITE in 0 ms, verified, XXH3 " HASH},
	/* An incomplete tree may have sent fewer files than were read. */
	{{2400000, 0, DIGEST, "a", "in/a", 2, false, false, 7, 0, 9, 0, false, false, NULL, NULL, 0,
		 NULL, NULL, NULL, 0},
		false, 2.0, "in/a and 1 more",
		": 2,400,000 bytes (2.4 MB) by WRITE in 2.0 s, 1.2 MB/s, incomplete"},
	{{UINT64_MAX, 0, DIGEST, NULL, NULL, 0, false, false, 0, 0, 0, 0, false, false, NULL, NULL,
		 0, NULL, NULL, NULL, 0},
		false, 1e6, "data",
		": 18,446,744,073,709,551,615 bytes (18.45 EB) by WRITE in 277:46:40, 18.45 TB/s, "
		"incomplete"},
};

static void prints_summary_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(summaries); i++) {
		char text[200], expected[200];
		int length;

		for (int sent = 0; sent < 2; sent++) {
			struct report report = {.peer = "192.0.2.1:7471",
				.mode = "write",
				.secret = summaries[i].secret,
				.seconds = summaries[i].seconds};

			*(sent ? &report.sent : &report.received) = summaries[i].stream;
			length = report_summary(text, sizeof(text), &report, sent);
			snprintf(expected, sizeof(expected), "%s %s %s 192.0.2.1:7471%s",
				sent ? "sent" : "received", summaries[i].path, sent ? "to" : "from",
				summaries[i].text);
			assert_string_equal(text, expected);
			assert_int_equal(length, strlen(expected));
		}
	}
}

static void says_how_many_entries_were_left_out(void **state)
{
	static const struct failure incomplete = {.kind = FAILURE_FILE,
		.phase = PHASE_INCOMPLETE,
		.code = EIO,
		.call = "read",
		.evidence = "1 could not be read"};
	struct omitted skipped, unreadable;
	struct report report = {.program = "rdma-client",
		.mode = "write",
		.peer = "192.0.2.1:7471",
		.sent = {.bytes = 5,
			.digest = DIGEST,
			.path = "a",
			.entries = 1,
			.files = 3,
			.skipped = &skipped,
			.unreadable = &unreadable,
			.complete = true}};
	char text[200], *json;

	(void)state;
	omitted_start(&skipped);
	omitted_start(&unreadable);
	json = json_of(&report);
	assert_non_null(strstr(json, "\"entries\":1,\"there\":0,\"skipped\":0,\"unreadable\":0,"));
	free(json);
	omitted_add(&skipped, "skipped a/fifo");
	report_summary(text, sizeof(text), &report, true);
	assert_string_equal(text,
		"sent a (3 files, 0 B; 1 skipped) to 192.0.2.1:7471 by WRITE in 0 ms, verified, XXH3 " HASH);
	report.sent.contents = 107370000000;
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, "(3 files, 107.37 GB; 5 B without holes, 1 skipped)"));
	report.sent.contents = 0;
	json = json_of(&report);
	assert_non_null(strstr(json, "\"entries\":1,\"there\":0,\"skipped\":1,"));
	assert_null(strstr(strstr(json, "\"received\":"), "\"skipped\":1,"));
	free(json);
	omitted_add(&unreadable, "cannot read a/f");
	report.status = STATUS_FAILED;
	report.failure = &incomplete;
	report.message = "exchange is incomplete";
	report_summary(text, sizeof(text), &report, true);
	assert_string_equal(text,
		"sent a (3 files, 0 B; 1 skipped, 1 unreadable) to 192.0.2.1:7471 by WRITE in 0 "
		"ms, incomplete: all else verified, XXH3 " HASH);
	json = json_of(&report);
	assert_non_null(strstr(json, "\"verdict\":\"incomplete\","));
	schema_check(json);
	free(json);
	omitted_end(&skipped);
	omitted_end(&unreadable);
}

/* Attributes that were lost here, and those that the peer has lost. */
static void says_that_attributes_were_lost(void **state)
{
	static const struct failure incomplete = {.kind = FAILURE_FILE,
		.phase = PHASE_INCOMPLETE,
		.code = EIO,
		.call = "set",
		.evidence = "1 lacks attributes"};
	struct omitted lost;
	struct report report = {.program = "rdma-client",
		.mode = "write",
		.peer = "192.0.2.1:7471",
		.status = STATUS_FAILED,
		.failure = &incomplete,
		.message = "exchange is incomplete",
		.sent = {.bytes = 5,
			.digest = DIGEST,
			.path = "a",
			.entries = 1,
			.files = 3,
			.complete = true}};
	char text[200], *json;

	(void)state;
	omitted_start(&lost);
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, "(3 files, 0 B) "));
	assert_non_null(strstr(text, ", incomplete: all data verified, XXH3 "));
	report.sent.lost = &lost;
	omitted_add(&lost, "cannot keep a/f");
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, "(3 files, 0 B; 1 without all attributes) "));
	assert_non_null(strstr(text, ", incomplete: all data verified, XXH3 "));
	report.received = report.sent;
	report.sent.lost = NULL;
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, ", verified, XXH3 "));
	report_summary(text, sizeof(text), &report, false);
	assert_non_null(strstr(text, ", incomplete: all data verified, XXH3 "));
	json = json_of(&report);
	assert_non_null(strstr(strstr(json, "\"received\":"), "\"attributes_lost\":1,"));
	schema_check(json);
	free(json);
	omitted_end(&lost);
}

static void says_what_a_file_without_holes_is(void **state)
{
	struct report report = {.program = "rdma-client",
		.mode = "write",
		.peer = "192.0.2.1:7471",
		.sent = {.bytes = 1032,
			.left_out = 4000000 - 1032,
			.digest = DIGEST,
			.path = "a",
			.complete = true}};
	char text[200];

	(void)state;
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, ": 4,000,000 bytes (4.0 MB; 1.0 kB without holes) by WRITE"));
	/* What describes the runs may be more than their holes. */
	report.sent.left_out = -16;
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, ": 1,032 bytes (1.0 kB) by WRITE"));
}

static void says_that_data_was_discarded(void **state)
{
	const struct report report = {.peer = "192.0.2.1:7471",
		.seconds = 1,
		.received = {.bytes = 5, .digest = DIGEST, .discarded = true, .complete = true}};
	char text[200];

	(void)state;
	report_summary(text, sizeof(text), &report, false);
	assert_string_equal(text,
		"discarded data from 192.0.2.1:7471: 5 bytes in 1.0 s, 5 B/s, verified, XXH3 " HASH);
}

static void says_where_a_transfer_resumed(void **state)
{
	struct report report = {.peer = "192.0.2.1:7471",
		.seconds = 1,
		.received = {
			.bytes = 5, .from = 7, .digest = DIGEST, .path = "f", .complete = true}};
	char text[200];

	(void)state;
	report_summary(text, sizeof(text), &report, false);
	assert_string_equal(text, "received f from 192.0.2.1:7471: 5 bytes in 1.0 s, 5 B/s, "
				  "resumed at byte 7, verified, XXH3 " HASH);
	report.received.bytes = 0;
	report_summary(text, sizeof(text), &report, false);
	assert_string_equal(text, "already there: f from 192.0.2.1:7471: 7 bytes, XXH3 " HASH);
	report.sent = report.received;
	report_summary(text, sizeof(text), &report, true);
	assert_string_equal(text, "already there: f at 192.0.2.1:7471: 7 bytes, XXH3 " HASH);
}

/* Time and rate are those of the data that moved; the check before it is named if it took long. */
static void leaves_out_the_check_of_what_was_there(void **state)
{
	struct report report = {.peer = "192.0.2.1:7471",
		.mode = "write",
		.seconds = 12.5,
		.sent = {.bytes = 100000000,
			.from = 200000000,
			.digest = DIGEST,
			.path = "f",
			.complete = true,
			.checked = 7.5}};
	char text[200], *json;

	(void)state;
	report_summary(text, sizeof(text), &report, true);
	assert_string_equal(text,
		"sent f to 192.0.2.1:7471: 100,000,000 bytes (100.0 MB) by WRITE in 5.0 s, 20.0 MB/s, "
		"resumed at byte 200,000,000 after a check of 7.5 s, verified, XXH3 " HASH);
	json = json_of(&report);
	assert_non_null(strstr(json, "\"seconds\":12.500000,"));
	assert_non_null(strstr(json, "\"sent\":{\"bytes\":100000000,\"resumed_at\":200000000,"));
	assert_non_null(strstr(json,
		"\"entries\":null,\"there\":null,\"skipped\":null,\"unreadable\":null,\"attributes_lost\":null,\"check_seconds\":7.500000,\"pace\":null}"));
	assert_non_null(strstr(json, "\"rate\":20000000,"));
	free(json);
	/* What was there was of another file. */
	report.sent.from = 0;
	report.sent.complete = false;
	report_summary(text, sizeof(text), &report, true);
	assert_string_equal(text,
		"sent f to 192.0.2.1:7471: 100,000,000 bytes (100.0 MB) by WRITE in "
		"5.0 s, 20.0 MB/s, after a check of 7.5 s, incomplete");
	report.sent.checked = 0.099;
	report_summary(text, sizeof(text), &report, true);
	assert_null(strstr(text, "check"));
	/* A check that took all the time leaves no rate. */
	report.sent.checked = 12.5;
	report_summary(text, sizeof(text), &report, true);
	assert_non_null(strstr(text, " in 0 ms, after a check of 12.5 s, incomplete"));
}

static void says_which_command_moves_the_rest(void **state)
{
	struct report report = {.peer = "192.0.2.1:7471",
		.seconds = 1,
		.sent = {.bytes = 5, .path = "f", .resumes = true},
		.received = {.bytes = 5, .path = "g", .resumes = true}};
	char text[200];

	(void)state;
	report_summary(text, sizeof(text), &report, true);
	assert_string_equal(text, "sent f to 192.0.2.1:7471: 5 bytes in 1.0 s, 5 B/s, incomplete; "
				  "the same command sends the rest");
	report_summary(text, sizeof(text), &report, false);
	assert_string_equal(text, "received g from 192.0.2.1:7471: 5 bytes in 1.0 s, 5 B/s, "
				  "incomplete; the same command fetches the rest");
	/* A server names the file, too, whose path is none of a stored file. */
	report.received = (struct report_stream){.bytes = 5, .target = "in/g"};
	report_summary(text, sizeof(text), &report, false);
	assert_string_equal(
		text, "received in/g from 192.0.2.1:7471: 5 bytes in 1.0 s, 5 B/s, incomplete");
	report.received.kept = true;
	report_summary(text, sizeof(text), &report, false);
	assert_string_equal(text, "received in/g from 192.0.2.1:7471: 5 bytes in 1.0 s, 5 B/s, "
				  "incomplete; kept for the client to resume");
}

static void truncates_a_summary_to_the_buffer(void **state)
{
	char path[1000], text[10];
	struct report report = {.seconds = 1, .sent = {.bytes = 5, .path = path}};

	(void)state;
	memset(path, '\n', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_true(report_summary(text, sizeof(text), &report, true) > (int)sizeof(text));
	assert_string_equal(text, "sent \\x0a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contains_every_member),
		cmocka_unit_test(names_what_limits_a_stream),
		cmocka_unit_test(reports_null_for_unknown_values),
		cmocka_unit_test(reports_a_verdict_for_each_status),
		cmocka_unit_test(summarizes_messages),
		cmocka_unit_test(escapes_any_name),
		cmocka_unit_test(shows_no_rate_without_a_duration),
		cmocka_unit_test(matches_the_schema),
		cmocka_unit_test(schema_rejects_invalid_documents),
		cmocka_unit_test(prints_summary_lines),
		cmocka_unit_test(says_how_many_entries_were_left_out),
		cmocka_unit_test(says_that_attributes_were_lost),
		cmocka_unit_test(says_what_a_file_without_holes_is),
		cmocka_unit_test(says_that_data_was_discarded),
		cmocka_unit_test(says_where_a_transfer_resumed),
		cmocka_unit_test(leaves_out_the_check_of_what_was_there),
		cmocka_unit_test(says_which_command_moves_the_rest),
		cmocka_unit_test(truncates_a_summary_to_the_buffer),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
