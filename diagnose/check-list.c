/*
 * Check results: text lines, verdict, exit status and JSON array. The caller owns the list and runs
 * the checks, which diagnose/checks.c lists.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/json-document.h"
#include "base/text.h"
#include "base/units.h"
#include "diagnose/check-list.h"

static const char *const states[] = {
	[CHECK_SKIPPED] = "skipped",
	[CHECK_OK] = "ok",
	[CHECK_FAILED] = "failed",
};

/* Terminals with fewer columns have no column for the states: results follow them. */
#define COLUMNS_ALIGNED 80

/* A failure that took less time is shown without it: nothing was waited for, in milliseconds. */
#define AFTER_SHOWN_MS 1000

void check_list_init(struct check_list *list, const struct check_row *rows, const char *host)
{
	*list = (struct check_list){.rows = rows};
	check_list_set_host(list, host);
}

void check_list_set_host(struct check_list *list, const char *host)
{
	snprintf(list->host, sizeof(list->host), "%s", host);
}

void check_list_set_gateway(struct check_list *list, const char *gateway)
{
	snprintf(list->gateway, sizeof(list->gateway), "%s", gateway);
}

static void __attribute__((format(printf, 4, 0))) note(struct check_list *list, enum check check,
	enum check_state state, const char *format, va_list args)
{
	list->checks[check].state = state;
	vsnprintf(list->checks[check].text, sizeof(list->checks[check].text), format, args);
}

void check_list_ok(struct check_list *list, enum check check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(list, check, CHECK_OK, format, args);
	va_end(args);
}

void check_list_shorten(struct check_list *list, enum check check, const char *format, ...)
{
	va_list args;

	for (size_t i = 0; i < CHECK_SHORTER; i++) {
		char *form = list->checks[check].shorter[i];

		if (*form)
			continue;
		va_start(args, format);
		vsnprintf(form, CHECK_SHORTER_SIZE, format, args);
		va_end(args);
		return;
	}
}

void check_list_skip(struct check_list *list, enum check check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(list, check, CHECK_SKIPPED, format, args);
	va_end(args);
}

void check_list_warn(struct check_list *list, enum check check, const char *format, ...)
{
	char *warning = list->checks[check].warning;
	size_t used = strlen(warning), size = sizeof(list->checks[check].warning);
	va_list args;

	if (used)
		used += (size_t)snprintf(warning + used, size - used, "; ");
	va_start(args, format);
	if (used < size)
		vsnprintf(warning + used, size - used, format, args);
	va_end(args);
}

int check_list_fail(struct check_list *list, enum check check, const struct failure *failure)
{
	list->checks[check].state = CHECK_FAILED;
	list->checks[check].failure = *failure;
	return -1;
}

/* A full server or a long delay does not cause any other failure. */
static bool is_harmless(const struct failure *failure)
{
	return failure->kind == FAILURE_IMPAIRED &&
	       (failure->code == IMPAIRED_FULL || failure->code == IMPAIRED_DELAY);
}

/*
 * Datagrams of the interface's MTU may be too large for the path, or for the other interface, while
 * RDMA packets fit: data that arrives proves that. Missing replies to large datagrams are no proof
 * either: the MTUs of both ends, if they differ, are the cause.
 */
static bool is_settled(const struct check_list *list, enum check check)
{
	const struct failure *failure = &list->checks[check].failure;
	const struct failure *ends = &list->checks[CHECK_ENDS].failure;
	bool arrived = list->checks[CHECK_DATA].state == CHECK_OK;

	if (failure->kind != FAILURE_IMPAIRED)
		return false;
	if (check == CHECK_ENDS)
		return failure->code == IMPAIRED_MTU && list->rdma_mtus_equal && arrived;
	if (check != CHECK_PATH)
		return false;
	if (arrived)
		return true;
	return failure->code == IMPAIRED_LARGE && list->checks[CHECK_ENDS].state == CHECK_FAILED &&
	       ends->kind == FAILURE_IMPAIRED &&
	       (ends->code == IMPAIRED_MTU || ends->code == IMPAIRED_RDMA_MTU);
}

enum check check_list_broken(const struct check_list *list)
{
	enum check first = CHECKS, alone = CHECKS;

	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		if (list->checks[check].state != CHECK_FAILED || is_settled(list, check))
			continue;
		if (is_harmless(&list->checks[check].failure)) {
			alone = check;
			continue;
		}
		/*
		 * Dropped large packets can explain lost data, but not a port without a listener.
		 */
		if (check < CHECK_DATA && list->checks[check].failure.kind != FAILURE_IMPAIRED)
			return check;
		if (first == CHECKS)
			first = check;
	}
	return first < CHECKS ? first : alone;
}

/* The explanation of a failed check; any string may be "". */
struct account {
	const char *evidence, *cause, *side, *remedy;
	bool guess;
	char command[128 + TEXT_QUOTED_SIZE(256)];
};

/* Replaces HOST, or GATEWAY, in the command with the address or name, quoted for the shell. */
static void fill_in(const struct check_list *list, const char *command, char *text, size_t size)
{
	bool gateway = command && strstr(command, "GATEWAY");
	const char *variable = gateway ? "GATEWAY" : "HOST";
	const char *value = gateway ? list->gateway : list->host;
	const char *place = command ? strstr(command, variable) : NULL;
	char word[TEXT_QUOTED_SIZE(sizeof(list->host))];

	text_quote(word, value);
	if (place && *value)
		snprintf(text, size, "%.*s%s%s", (int)(place - command), command, word,
			place + strlen(variable));
	else
		snprintf(text, size, "%s", command ? command : "");
}

static struct account account_for(const struct check_list *list, enum check check)
{
	const struct failure *failure = &list->checks[check].failure;
	const struct explanation *row = explain(failure->kind, failure->phase, failure->code);
	struct account account = {
		.evidence = row->cause ? failure->evidence : "",
		.cause = row->cause ? row->cause : failure->evidence,
		.side = explain_side(list->same_host ? SIDE_HERE : row->side),
		.remedy = row->remedy ? row->remedy : "",
		.guess = row->guess,
	};

	fill_in(list, row->command, account.command, sizeof(account.command));
	return account;
}

/* Appends as much as fits and adds the full length to *used, as snprintf(3) returns it. */
static void __attribute__((format(printf, 4, 5)))
append(char *text, size_t size, size_t *used, const char *format, ...)
{
	va_list args;
	int more;

	va_start(args, format);
	more = *used < size ? vsnprintf(text + *used, size - *used, format, args)
			    : vsnprintf(NULL, 0, format, args);
	va_end(args);
	*used += more > 0 ? (size_t)more : 0;
}

/* Returns a form of the result: 0 is the longest. NULL: there is no such form. */
static const char *form_of(const struct check_list *list, enum check check, size_t index)
{
	if (index == 0)
		return list->checks[check].text;
	if (list->checks[check].state != CHECK_OK || index > CHECK_SHORTER)
		return NULL;
	return *list->checks[check].shorter[index - 1] ? list->checks[check].shorter[index - 1]
						       : NULL;
}

/* Returns the longest form of the result that fits these columns, or the shortest. */
static const char *fitting_form(const struct check_list *list, enum check check, size_t columns)
{
	const char *form = form_of(list, check, 0), *next;

	for (size_t i = 1; strlen(form) > columns && (next = form_of(list, check, i)); i++)
		form = next;
	return form;
}

unsigned int check_list_indent(unsigned int columns)
{
	return columns > 0 && columns < COLUMNS_ALIGNED ? 15 : 20;
}

size_t check_list_lines(const struct check_list *list, enum check check, unsigned int columns,
	char *text, size_t size)
{
	enum check_state state = list->checks[check].state;
	unsigned int indent = check_list_indent(columns);
	struct account account;
	char span[UNITS_TEXT];
	size_t used = 0;

	append(text, size, &used, "%-11s %-*s ", list->rows[check].name, (int)indent - 13,
		states[state]);
	if (state != CHECK_FAILED) {
		append(text, size, &used, "%s",
			columns > indent ? fitting_form(list, check, columns - indent)
					 : list->checks[check].text);
		if (*list->checks[check].warning)
			append(text, size, &used, "\n%*swarning: %s", (int)indent, "",
				list->checks[check].warning);
		return used;
	}
	account = account_for(list, check);
	append(text, size, &used, "%s%s", account.guess ? "probably: " : "", account.cause);
	if (*account.evidence && !(check == CHECK_ENDS && list->ends_side_by_side))
		append(text, size, &used, "\n%*sseen: %s", (int)indent, "", account.evidence);
	if (list->checks[check].milliseconds >= AFTER_SHOWN_MS)
		append(text, size, &used, "\n%*safter: %s", (int)indent, "",
			units_format_duration(span, list->checks[check].milliseconds));
	append(text, size, &used, "\n%*swhere: %s", (int)indent, "", account.side);
	if (*account.remedy)
		append(text, size, &used, "\n%*snext: %s", (int)indent, "", account.remedy);
	if (*account.command)
		append(text, size, &used, "\n%*slook: %s", (int)indent, "", account.command);
	return used;
}

/* Returns the last check of the first way that passed, or CHECKS if none did. */
static enum check last_ok(const struct check_list *list)
{
	enum check last = CHECKS;

	for (enum check check = CHECK_HOST; check < CHECK_OTHER_WAY; check++)
		if (list->checks[check].state == CHECK_OK)
			last = check;
	return last;
}

/* True if RDMA works but is impaired: the checks after the failed ones still ran. */
static bool works(const struct check_list *list)
{
	bool on = true;

	for (enum check check = CHECK_HOST; check < CHECKS; check++) {
		bool failed = list->checks[check].state == CHECK_FAILED;

		if (failed && list->checks[check].failure.kind != FAILURE_IMPAIRED)
			return false;
		if (failed)
			on = check >= CHECK_COUNTERS;
		else if (list->checks[check].state == CHECK_OK)
			on = true;
	}
	return on;
}

/* True if the check found nothing but a low rate or a long delay. */
static bool is_slow(const struct check_list *list, enum check check)
{
	const struct failure *failure = &list->checks[check].failure;

	return failure->kind == FAILURE_IMPAIRED &&
	       (failure->code == IMPAIRED_SLOW_TO || failure->code == IMPAIRED_SLOW_FROM ||
		       failure->code == IMPAIRED_DELAY || failure->code == IMPAIRED_SPEED ||
		       failure->code == IMPAIRED_BUS);
}

/* True if all that the check found is that data moves, but too slowly to finish it. */
static bool is_too_slow(const struct check_list *list, enum check check)
{
	const struct failure *failure = &list->checks[check].failure;

	return list->checks[check].state == CHECK_FAILED && failure->kind == FAILURE_DEADLINE &&
	       failure->code == CODE_TOO_SLOW;
}

/*
 * True if the failure tells nothing about RDMA: the name or the address is wrong, the peer answered
 * with a refusal, its program ended, or this host was too busy to ask.
 */
static bool tells_nothing(const struct failure *failure)
{
	switch (failure->kind) {
	case FAILURE_NAME:
	case FAILURE_NO_HELLO:
		return true;
	case FAILURE_ADDRESS:
		return failure->code <= ADDRESS_BROADCAST;
	case FAILURE_ERRNO:
		return failure->phase == PHASE_CONNECT &&
		       (failure->code == ECONNREFUSED || failure->code == ECONNRESET);
	case FAILURE_REJECTED:
		return failure->code == REJECTED_NO_LISTENER || failure->code == REJECTED_CONSUMER;
	case FAILURE_REFUSED:
		return failure->code != REFUSAL_RESOURCES;
	case FAILURE_PROTOCOL:
		return failure->code == PROTOCOL_UNAUTHENTICATED;
	case FAILURE_GONE:
		return failure->code != CODE_REPLY_LOST && failure->code != CODE_UNACKNOWLEDGED;
	case FAILURE_DEADLINE:
		return failure->code == CODE_NOTHING_ASKED;
	default:
		return false;
	}
}

/*
 * True if all that the check found tells nothing about RDMA, or is that the peer did not respond in
 * time once connected, or that the data check had too little time.
 */
static bool is_unknown(const struct check_list *list, enum check check)
{
	const struct failure *failure = &list->checks[check].failure;

	return is_too_slow(list, CHECK_DATA) || tells_nothing(failure) ||
	       (check > CHECK_CONNECTION && failure->kind == FAILURE_DEADLINE);
}

/*
 * True if one way to connect works and the other does not: the connection or what it needs failed,
 * and then the other way worked; or only the other way failed.
 */
static bool is_one_way(const struct check_list *list, enum check broken)
{
	return broken == CHECK_OTHER_WAY ||
	       (broken <= CHECK_CONNECTION && list->checks[CHECK_OTHER_WAY].state == CHECK_OK);
}

enum outcome {
	OUTCOME_HEALTHY,
	OUTCOME_READY,
	OUTCOME_INCOMPLETE,
	/* These need a failed check. */
	OUTCOME_TOO_SLOW,
	OUTCOME_ONE_WAY,
	OUTCOME_UNKNOWN,
	OUTCOME_BROKEN,
	OUTCOME_SLOW,
	OUTCOME_IMPAIRED,
};

/* The outcome in one word, and how the sentence about it begins. */
static const struct {
	const char *word, *start;
} outcomes[] = {
	[OUTCOME_HEALTHY] = {"healthy", "RDMA works between the two hosts"},
	[OUTCOME_READY] = {"ready", "This host is ready for RDMA"},
	[OUTCOME_INCOMPLETE] = {"incomplete", "No problems found in the checks up to"},
	[OUTCOME_TOO_SLOW] = {"impaired", "RDMA works, but too slowly to measure"},
	[OUTCOME_ONE_WAY] = {"impaired", "RDMA works, but not in each way"},
	[OUTCOME_UNKNOWN] = {"unknown", "Whether RDMA works is unknown"},
	[OUTCOME_BROKEN] = {"broken", "RDMA does not work"},
	[OUTCOME_SLOW] = {"impaired", "RDMA works, but slowly"},
	[OUTCOME_IMPAIRED] = {"impaired", "RDMA works, but not well"},
};

/* The sentence about a healthy diagnosis begins like this. */
static const char *healthy_start(const struct check_list *list)
{
	return list->same_host ? "RDMA works within this host" : outcomes[OUTCOME_HEALTHY].start;
}

static enum outcome outcome_of(const struct check_list *list)
{
	enum check broken = check_list_broken(list), last = last_ok(list);

	if (broken < CHECKS)
		return is_too_slow(list, CHECK_BANDWIDTH) ? OUTCOME_TOO_SLOW
		       : is_one_way(list, broken)         ? OUTCOME_ONE_WAY
		       : is_unknown(list, broken)         ? OUTCOME_UNKNOWN
		       : !works(list)                     ? OUTCOME_BROKEN
		       : is_slow(list, broken)            ? OUTCOME_SLOW
							  : OUTCOME_IMPAIRED;
	if (last == CHECKS || last < CHECK_NAME)
		return OUTCOME_READY;
	return last < CHECK_DATA ? OUTCOME_INCOMPLETE : OUTCOME_HEALTHY;
}

/* Writes why no data was exchanged, although nothing failed. */
static void describe_incomplete(const struct check_list *list, char *text, size_t size)
{
	enum check last = last_ok(list), check = last;
	const char *why;

	while (check < CHECK_DATA && list->checks[check].reached)
		check++;
	why = list->checks[check].state == CHECK_SKIPPED ? list->checks[check].text : "";
	snprintf(text, size, "%s %s%s%s%s.", outcomes[OUTCOME_INCOMPLETE].start,
		list->rows[last].name, *why ? "; " : "", why,
		*why ? ", so no data was exchanged" : "");
}

/* The check whose result tells how well RDMA works. */
static enum check telling_check(const struct check_list *list)
{
	return list->checks[CHECK_BANDWIDTH].state == CHECK_OK ? CHECK_BANDWIDTH : CHECK_DATA;
}

/* Writes which way works, and why the other one does not. */
static void describe_one_way(const struct check_list *list, char *text, size_t size)
{
	enum check broken = check_list_broken(list);
	bool first = broken == CHECK_OTHER_WAY; /* the first way works */
	struct account account = account_for(list, broken);

	snprintf(text, size, "RDMA works if connected by %s, but not by %s: %s%s; look at %s.",
		first ? list->way : list->other_way, first ? list->other_way : list->way,
		account.guess ? "probably " : "", account.cause, account.side);
}

void check_list_verdict(const struct check_list *list, char *text, size_t size)
{
	enum outcome outcome = outcome_of(list);
	const char *start = outcomes[outcome].start;
	struct account account;

	switch (outcome) {
	case OUTCOME_ONE_WAY:
		describe_one_way(list, text, size);
		break;
	case OUTCOME_HEALTHY:
		snprintf(text, size, "%s: %s.", healthy_start(list),
			list->checks[telling_check(list)].text);
		break;
	case OUTCOME_READY:
		snprintf(text, size, "%s%s.", start,
			*list->checks[CHECK_HOST].warning ? ", but see the warning" : "");
		break;
	case OUTCOME_INCOMPLETE:
		describe_incomplete(list, text, size);
		break;
	default:
		account = account_for(list, check_list_broken(list));
		snprintf(text, size, "%s: %s%s; look at %s.", start,
			account.guess ? "probably " : "", account.cause, account.side);
	}
}

void check_list_short_verdict(
	const struct check_list *list, unsigned int columns, char *text, size_t size)
{
	/* Without the hosts, "RDMA works" means between two. */
	const char *const starts[] = {
		healthy_start(list), list->same_host ? healthy_start(list) : "RDMA works"};
	const char *form;

	check_list_verdict(list, text, size);
	if (outcome_of(list) != OUTCOME_HEALTHY)
		return;
	for (size_t i = 0; (form = form_of(list, telling_check(list), i)); i++)
		for (size_t j = 0; j < sizeof(starts) / sizeof(starts[0]); j++) {
			if (strlen(text) <= columns)
				return;
			snprintf(text, size, "%s: %s.", starts[j], form);
		}
	if (strlen(text) > columns)
		snprintf(text, size, "%s.", starts[strlen(starts[0]) >= columns]);
}

const char *check_list_verdict_word(const struct check_list *list)
{
	return outcomes[outcome_of(list)].word;
}

enum exit_status check_list_status(const struct check_list *list)
{
	enum check broken = check_list_broken(list);

	return broken < CHECKS ? explain_status(&list->checks[broken].failure) : STATUS_OK;
}

static struct json_object *check_json(const struct check_list *list, enum check check)
{
	struct json_object *object = json_object_new_object();
	struct account account = {"", "", "", "", false, ""};

	if (list->checks[check].state == CHECK_FAILED) {
		account = account_for(list, check);
		document_add_boolean(object, "guess", account.guess);
	} else
		document_add_null(object, "guess");
	document_add_text(object, "check", list->rows[check].name);
	document_add_text(object, "state", states[list->checks[check].state]);
	document_add_number(object, "milliseconds", (uint64_t)list->checks[check].milliseconds);
	document_add_known_text(object, "value", list->checks[check].text);
	document_add_known_text(object, "cause", account.cause);
	document_add_known_text(object, "evidence", account.evidence);
	document_add_known_text(object, "side", account.side);
	document_add_known_text(object, "next", account.remedy);
	document_add_known_text(object, "command", account.command);
	document_add_known_text(object, "warning",
		list->checks[check].state == CHECK_OK ? list->checks[check].warning : "");
	return object;
}

struct json_object *check_list_json(const struct check_list *list)
{
	struct json_object *array = json_object_new_array();

	for (enum check check = CHECK_HOST; check < CHECKS; check++)
		document_append(array, check_json(list, check));
	return document_filled(array);
}
