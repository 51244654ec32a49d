#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "document.h"
#include "explain.h"
#include "ladder.h"
#include "text.h"

static const char *const names[RUNGS] = {
	[RUNG_HOST] = "this host",
	[RUNG_NAME] = "name",
	[RUNG_ROUTE] = "route",
	[RUNG_NEIGHBOUR] = "neighbour",
	[RUNG_PATH] = "path",
	[RUNG_CONNECTION] = "connection",
	[RUNG_MESSAGE] = "message",
	[RUNG_ENDS] = "both ends",
	[RUNG_DATA] = "data",
	[RUNG_BANDWIDTH] = "bandwidth",
	[RUNG_COUNTERS] = "counters",
};

static const char *const states[] = {
	[RUNG_SKIPPED] = "skipped",
	[RUNG_OK] = "ok",
	[RUNG_FAILED] = "failed",
};

static const char *const sides[] = {
	[SIDE_HERE] = "this host",
	[SIDE_THERE] = "the other host",
	[SIDE_BEYOND] = "the other host, or the way to it",
	[SIDE_EITHER] = "either host",
};

/* What is below what, when a rung takes several lines. */
#define INDENT "                    "

void ladder_init(struct ladder *ladder, const char *host)
{
	*ladder = (struct ladder){0};
	ladder_set_host(ladder, host);
}

void ladder_set_host(struct ladder *ladder, const char *host)
{
	snprintf(ladder->host, sizeof(ladder->host), "%s", host);
}

static void __attribute__((format(printf, 4, 0)))
note(struct ladder *ladder, enum rung rung, enum rung_state state, const char *format, va_list args)
{
	ladder->rungs[rung].state = state;
	vsnprintf(ladder->rungs[rung].text, sizeof(ladder->rungs[rung].text), format, args);
}

void ladder_ok(struct ladder *ladder, enum rung rung, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(ladder, rung, RUNG_OK, format, args);
	va_end(args);
}

void ladder_skip(struct ladder *ladder, enum rung rung, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(ladder, rung, RUNG_SKIPPED, format, args);
	va_end(args);
}

int ladder_fail(struct ladder *ladder, enum rung rung, const struct failure *failure)
{
	ladder->rungs[rung].state = RUNG_FAILED;
	ladder->rungs[rung].failure = *failure;
	return -1;
}

void ladder_took(struct ladder *ladder, enum rung rung, int milliseconds)
{
	ladder->rungs[rung].milliseconds = milliseconds;
}

/* That a server is full explains nothing else that is broken. */
static bool stands_alone(const struct failure *failure)
{
	return failure->kind == FAILURE_IMPAIRED && failure->code == IMPAIRED_FULL;
}

enum rung ladder_broken(const struct ladder *ladder)
{
	enum rung first = RUNGS, alone = RUNGS;

	for (enum rung rung = RUNG_HOST; rung < RUNGS; rung++) {
		if (ladder->rungs[rung].state != RUNG_FAILED)
			continue;
		if (stands_alone(&ladder->rungs[rung].failure)) {
			alone = rung;
			continue;
		}
		/* Packets that do not fit may be why data did not arrive, but not why nobody listens. */
		if (rung < RUNG_DATA && ladder->rungs[rung].failure.kind != FAILURE_IMPAIRED)
			return rung;
		if (first == RUNGS)
			first = rung;
	}
	return first < RUNGS ? first : alone;
}

const char *ladder_name(enum rung rung)
{
	return names[rung];
}

/* How a failed rung is explained, in pieces; each may be "". */
struct account {
	const char *evidence, *cause, *side, *cure;
	bool guess;
	char command[128 + TEXT_QUOTED_SIZE(256)];
};

/* Writes the command with the host in place of HOST, as a shell has to get it. */
static void fill_in(const char *command, const char *host, char *text, size_t size)
{
	const char *place = command ? strstr(command, "HOST") : NULL;
	char word[TEXT_QUOTED_SIZE(sizeof(((struct ladder *)0)->host))];

	text_quote(word, host);
	if (place && *host)
		snprintf(text, size, "%.*s%s%s", (int)(place - command), command, word,
			place + strlen("HOST"));
	else
		snprintf(text, size, "%s", command ? command : "");
}

static struct account account_for(const struct ladder *ladder, enum rung rung)
{
	const struct failure *failure = &ladder->rungs[rung].failure;
	const struct explanation *row = explain(failure->kind, failure->phase, failure->code);
	struct account account = {
		.evidence = row->cause ? failure->evidence : "",
		.cause = row->cause ? row->cause : failure->evidence,
		.side = sides[row->side],
		.cure = row->cure ? row->cure : "",
		.guess = row->guess,
	};

	fill_in(row->command, ladder->host, account.command, sizeof(account.command));
	return account;
}

/* Appends to a text as far as it has room, and counts what it would take: snprintf(3). */
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

size_t ladder_lines(const struct ladder *ladder, enum rung rung, char *text, size_t size)
{
	enum rung_state state = ladder->rungs[rung].state;
	struct account account;
	size_t used = 0;

	append(text, size, &used, "%-11s %-8s", names[rung], states[state]);
	if (state != RUNG_FAILED) {
		append(text, size, &used, "%s", ladder->rungs[rung].text);
		return used;
	}
	account = account_for(ladder, rung);
	append(text, size, &used, "%s%s", account.guess ? "probably: " : "", account.cause);
	if (*account.evidence)
		append(text, size, &used, "\n" INDENT "seen: %s", account.evidence);
	append(text, size, &used, "\n" INDENT "after: %d ms", ladder->rungs[rung].milliseconds);
	append(text, size, &used, "\n" INDENT "where: %s", account.side);
	if (*account.cure)
		append(text, size, &used, "\n" INDENT "next: %s", account.cure);
	if (*account.command)
		append(text, size, &used, "\n" INDENT "look: %s", account.command);
	return used;
}

/* The last rung that holds, RUNGS if none does. */
static enum rung last_ok(const struct ladder *ladder)
{
	enum rung last = RUNGS;

	for (enum rung rung = RUNG_HOST; rung < RUNGS; rung++)
		if (ladder->rungs[rung].state == RUNG_OK)
			last = rung;
	return last;
}

/* True if what broke only works badly, and the climb went on from there. */
static bool works(const struct ladder *ladder)
{
	bool on = true;

	for (enum rung rung = RUNG_HOST; rung < RUNGS; rung++) {
		bool failed = ladder->rungs[rung].state == RUNG_FAILED;

		if (failed && ladder->rungs[rung].failure.kind != FAILURE_IMPAIRED)
			return false;
		if (failed)
			on = rung == RUNG_COUNTERS;
		else if (ladder->rungs[rung].state == RUNG_OK)
			on = true;
	}
	return on;
}

void ladder_verdict(const struct ladder *ladder, char *text, size_t size)
{
	enum rung broken = ladder_broken(ladder), last = last_ok(ladder);
	struct account account;

	if (broken < RUNGS) {
		account = account_for(ladder, broken);
		snprintf(text, size, "%s: %s%s; look at %s.",
			works(ladder) ? "RDMA works, but not well" : "RDMA does not work",
			account.guess ? "probably " : "", account.cause, account.side);
	} else if (last == RUNGS || last < RUNG_NAME) {
		snprintf(text, size, "This host is ready for RDMA.");
	} else if (last < RUNG_MESSAGE) {
		snprintf(text, size, "No fault as far as was looked, up to: %s.", names[last]);
	} else {
		snprintf(text, size, "RDMA works between the two hosts: %s.",
			ladder->rungs[RUNG_BANDWIDTH].state == RUNG_OK
				? ladder->rungs[RUNG_BANDWIDTH].text
				: names[last]);
	}
}

enum exit_status ladder_status(const struct ladder *ladder)
{
	enum rung broken = ladder_broken(ladder);

	return broken < RUNGS ? failure_status(&ladder->rungs[broken].failure) : STATUS_OK;
}

/* Adds a text to the object; null if it is "". False if there is no memory. */
static bool add(struct json_object *object, const char *key, const char *text)
{
	return document_add_text(object, key, *text ? text : NULL);
}

static bool fill(const struct ladder *ladder, enum rung rung, struct json_object *object)
{
	bool failed = ladder->rungs[rung].state == RUNG_FAILED;
	struct account account = {"", "", "", "", false, ""};

	if (failed)
		account = account_for(ladder, rung);
	return (failed ? document_add_boolean(object, "guess", account.guess)
		       : document_add(object, "guess", NULL)) &&
	       add(object, "rung", names[rung]) &&
	       add(object, "state", states[ladder->rungs[rung].state]) &&
	       document_add_number(
		       object, "milliseconds", (uint64_t)ladder->rungs[rung].milliseconds) &&
	       add(object, "value", ladder->rungs[rung].text) &&
	       add(object, "cause", account.cause) && add(object, "evidence", account.evidence) &&
	       add(object, "side", account.side) && add(object, "next", account.cure) &&
	       add(object, "command", account.command);
}

struct json_object *ladder_json(const struct ladder *ladder)
{
	struct json_object *array = json_object_new_array();

	for (enum rung rung = RUNG_HOST; array && rung < RUNGS; rung++) {
		struct json_object *object = json_object_new_object();

		if (!object || !fill(ladder, rung, object) ||
			json_object_array_add(array, object)) {
			json_object_put(object);
			json_object_put(array);
			return NULL;
		}
	}
	return array;
}
