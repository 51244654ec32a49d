/*
 * `rdma-client explain` knows every message in the sources. The calls that produce messages are
 * found by the names of their functions, and their formats are looked up with a sample instead of
 * each conversion. Must run at the top of the source tree, as `make check` does.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explanations.h"
#include "exchange/state-machine.h"
#include "tests/unit/common/document-fixture.h"
#include "tests/unit/unit.h"

#define TEXT_SIZE     1024
#define ARGUMENTS_MAX 24

/* The functions, and which of their arguments, from 0, is the format. */
static const struct producer {
	const char *function;
	unsigned int argument;
	const char *before; /* what the function puts before it */
	const char *into;   /* only calls with this in their first argument; NULL: all */
} producers[] = {
	{"output_error", 1, "", NULL},
	{"output_detail", 1, "", NULL},
	{"output_warning", 1, "", NULL},
	{"output_line", 1, "", NULL},
	{"output_line_warning", 1, "", NULL},
	{"output_step", 2, "", NULL},
	{"output_result", 2, "", NULL},
	{"client_log_step", 2, "", NULL},
	{"dial_show_step", 1, "", NULL},
	{"check_list_skip", 2, "", NULL},
	{"check_list_warn", 2, "warning: ", NULL},
	{"options_wrong", 1, "", NULL},
	{"options_advise", 1, "", NULL},
	{"failure_set", 5, "", NULL},
	{"failure_protocol", 2, "exchange with a failed: ", NULL},
	{"queue_pair_failed", 3, "", NULL},
	{"cannot_read", 2, "cannot read a: ", NULL},
	{"cannot_use", 2, "cannot use secret file a: ", NULL},
	{"cannot_draw", 4, "cannot draw a: ", NULL},
	{"comparison_failed", 2, "cannot compare a: ", NULL},
	{"refuse_stream", 0, "the peer's files are not a valid stream: ", NULL},
	{"snprintf", 2, "", "why"},
	{"snprintf", 2, "", "cause"},
};

/*
 * Kinds and codes of failures whose explanations have a cause, so that the format produces only the
 * evidence in parentheses. test-documents.c compares the causes with the document.
 */
static const char *const with_causes[] = {"FAILURE_HOST", "FAILURE_REJECTED", "FAILURE_COMPLETION",
	"FAILURE_DAMAGED", "FAILURE_DAMAGED_THERE", "FAILURE_REMOVED", "FAILURE_INTERRUPTED",
	"FAILURE_NO_HELLO", "FAILURE_ADDRESS", "FAILURE_IMPAIRED", "LIMIT_IDLE", "LIMIT_MEMORY",
	"CODE_REPLY_LOST", "CODE_NOT_SENT", "PHASE_LISTEN, ENODEV", "PHASE_ADDRESS, ENODEV",
	"FAILURE_PATH", "FAILURE_MULTICAST", "REFUSAL_PATH"};

static bool is_known(const char *message)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	unsigned int count;

	assert_non_null(stream);
	count = explanations_print(stream, message);
	fclose(stream);
	free(text);
	return count > 0;
}

/* Returns the end of the literal whose opening quotation mark is at *source. */
static const char *end_of_literal(const char *source)
{
	for (source++; *source != '"'; source++)
		source += *source == '\\';
	return source + 1;
}

/* Returns the end of the comment, literal or character at *source. */
static const char *end_of_token(const char *source)
{
	if (strncmp(source, "/*", 2) == 0)
		return strstr(source, "*/") + 2;
	if (*source == '"')
		return end_of_literal(source);
	if (*source == '\'')
		return strchr(source + 1 + (source[1] == '\\'), '\'') + 1;
	return source + 1;
}

/* Splits the arguments of a call, from after its "(". Returns their number. */
static unsigned int split(const char *source, const char *starts[], const char *ends[])
{
	unsigned int count = 0, depth = 1;

	starts[0] = source;
	for (; depth > 0; source = end_of_token(source)) {
		depth += *source == '(' || *source == '{';
		depth -= *source == ')' || *source == '}';
		if (depth > 1 || (depth == 1 && *source != ','))
			continue;
		ends[count++] = source;
		assert_true(count < ARGUMENTS_MAX);
		starts[count] = source + 1;
	}
	return count;
}

/* True if the text has one of the names. */
static bool has_cause(const char *text, const char *end)
{
	for (size_t i = 0; i < COUNT(with_causes); i++)
		if (memmem(text, (size_t)(end - text), with_causes[i], strlen(with_causes[i])))
			return true;
	return false;
}

/*
 * Reads the literal at *source, and those that follow directly or after a macro such as PRIu64,
 * with "7" for each conversion. Returns the end.
 */
static const char *read_literal(const char *source, const char *end, char text[TEXT_SIZE])
{
	size_t used = strlen(text);

	while (*source == '"') {
		for (source++; *source != '"'; source++) {
			assert_true(used < TEXT_SIZE - 2);
			if (*source == '%' && source[1] == '%') {
				text[used++] = *source++;
			} else if (*source == '%') {
				text[used++] = '7';
				source += strspn(source + 1, "0123456789.*#-");
				source += strspn(source + 1, "lzh");
				source += source[1] != '"';
			} else if (*source == '\\') {
				text[used++] = *++source;
			} else {
				text[used++] = *source;
			}
		}
		source++;
		source += strspn(source, " \t\n");
		if (strncmp(source, "PRI", 3) == 0)
			source += strcspn(source, "\" \t\n");
		source += strspn(source, " \t\n");
		if (source >= end)
			break;
	}
	text[used] = '\0';
	return source;
}

/* True if the text has words of its own, besides the samples. */
static bool has_words(const char *text)
{
	unsigned int letters = 0;

	for (; *text; text++)
		letters += isalpha((unsigned char)*text) != 0;
	return letters > 3;
}

/* Looks up the literals of an argument. Returns their number. */
static unsigned int check_argument(const char *path, const struct producer *producer,
	const char *start, const char *end, unsigned int *unknown)
{
	unsigned int checked = 0;

	while (start < end) {
		char text[TEXT_SIZE];
		size_t before;

		if (*start != '"') {
			start = end_of_token(start);
			continue;
		}
		snprintf(text, sizeof(text), "%s", producer->before);
		before = strlen(text);
		start = read_literal(start, end, text);
		/*
		 * "received %s" is checked below, ", doubled by --verify," is only a part, and a
		 * check of the route shows the same if it passes.
		 */
		if (!has_words(text + before) || strcmp(text, "received 7") == 0 ||
			strcmp(text, "7; RDMA device 7") == 0 || text[before] == ',')
			continue;
		if (!is_known(text)) {
			print_error(
				"%s: no message in docs/troubleshooting.md is like '%s'; if this is "
				"evidence for a cause, add the failure to with_causes\n",
				path, text);
			*unknown += 1;
		}
		checked++;
	}
	return checked;
}

/* Looks up the messages of one call, from after its "(". Returns their number. */
static unsigned int check_call(const char *path, const struct producer *producer,
	const char *source, unsigned int *unknown)
{
	const char *starts[ARGUMENTS_MAX], *ends[ARGUMENTS_MAX];
	unsigned int count = split(source, starts, ends);

	if (count <= producer->argument)
		return 0;
	if (producer->into && !memmem(starts[0], (size_t)(ends[0] - starts[0]), producer->into,
				      strlen(producer->into)))
		return 0;
	if (strcmp(producer->function, "failure_set") == 0 && has_cause(starts[1], ends[3]))
		return 0;
	return check_argument(
		path, producer, starts[producer->argument], ends[producer->argument], unknown);
}

/* Looks up the messages of all calls of a producer in a file. Returns their number. */
static unsigned int check_producer(
	const char *path, const struct producer *producer, unsigned int *unknown)
{
	char *source = document_read(path), name[64];
	unsigned int checked = 0;

	snprintf(name, sizeof(name), "%s(", producer->function);
	for (const char *call = source; (call = strstr(call, name)); call++)
		if (call > source && !isalnum((unsigned char)call[-1]) && call[-1] != '_')
			checked += check_call(path, producer, call + strlen(name), unknown);
	free(source);
	return checked;
}

static void every_message_is_explained(void **state)
{
	unsigned int checked[COUNT(producers)] = {0}, sum = 0, unknown = 0;
	glob_t files;

	(void)state;
	assert_int_equal(glob("[a-z]*/*.c", 0, NULL, &files), 0);
	assert_int_equal(glob("rdma-*.c", GLOB_APPEND, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++)
		for (size_t p = 0; p < COUNT(producers); p++)
			checked[p] += check_producer(files.gl_pathv[i], &producers[p], &unknown);
	globfree(&files);
	/* None means that the sources were not parsed, or that the function has another name. */
	for (size_t p = 0; p < COUNT(producers); p++) {
		check_case(producers[p].function, checked[p] > 0);
		sum += checked[p];
	}
	assert_in_range(sum, 150, 1000);
	assert_int_equal(unknown, 0);
}

/* Looks up what the state machine says about each event in one state. Returns their number. */
static unsigned int check_violations(const struct exchange *exchange)
{
	unsigned int count = 0;
	char text[TEXT_SIZE];

	for (unsigned int event = 0; event < EVENT_COUNT; event++) {
		const char *violation = exchange_violation(exchange, (enum exchange_event)event);

		if (!violation)
			continue;
		snprintf(text, sizeof(text), "received %s", violation);
		check_case(text, is_known(text));
		count++;
	}
	return count;
}

/* The state machine composes messages from its tables. */
static void every_violation_is_explained(void **state)
{
	unsigned int count = 0;
	struct exchange exchange;

	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++) {
		exchange_init(&exchange, kind & 1,
			kind & 2 ? &exchange_rules_tutorial : &exchange_rules_ours, kind & 4);
		for (unsigned int received = 0; received <= RECEIVED_VERDICT; received++) {
			exchange.received = (enum exchange_received)received;
			count += check_violations(&exchange);
		}
	}
	assert_true(count > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_message_is_explained),
		cmocka_unit_test(every_violation_is_explained),
	};

	return cmocka_run_group_tests_name("messages", tests, NULL, NULL);
}
