/*
 * The report of an exchange: a JSON document on standard output, and a sentence for each stream of
 * more than a message. Owns nothing.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-document.h"
#include "base/output.h"
#include "base/text.h"
#include "base/units.h"
#include "base/version.h"
#include "exchange/report.h"

/* The longest name of a file, NAME_MAX of Linux; what is longer is cut in the summary. */
#define NAME_SIZE_MAX 255

#define FIELD_SIZE 32

/* A time that is none, which no clock should give, is shown as 0. */
static double sane(double seconds)
{
	return seconds > 0 && seconds < 1e12 ? seconds : 0;
}

/* Bytes in a second, to the nearest; negative if that cannot be said. */
static double rate_of(const struct report_stream *stream, double seconds)
{
	double rate = sane(seconds) > 0 ? (double)stream->bytes / seconds + 0.5 : -1;

	/* Less than 2^64, or it would not be an integer that programs can read. */
	return rate < 0x1p64 ? rate : -1;
}

static bool add_stream(struct json_object *object, const char *key,
	const struct report_stream *stream, double seconds)
{
	struct json_object *child = document_add_object(object, key);
	double rate = rate_of(stream, seconds);
	char hash[DIGEST_TEXT_SIZE];

	digest_text(hash, &stream->digest);
	return child && document_add_number(child, "bytes", stream->bytes) &&
	       document_add_text(child, "hash", stream->complete ? hash : NULL) &&
	       (rate < 0 ? document_add(child, "rate", NULL)
			 : document_add_number(child, "rate", (uint64_t)rate)) &&
	       document_add_text(child, "name", stream->name);
}

static const char *verdict(enum exit_status status)
{
	switch (status) {
	case STATUS_OK:
		return "verified";
	case STATUS_DAMAGED:
		return "damaged";
	default:
		return "failed";
	}
}

static bool add_seconds(struct json_object *object, double seconds)
{
	char text[FIELD_SIZE];

	/* Microseconds: all 17 digits of a double would only show its error. */
	snprintf(text, sizeof(text), "%.6f", sane(seconds));
	return document_add_value(object, "seconds", json_object_new_double_s(sane(seconds), text));
}

static bool fill(struct json_object *object, const struct report *report)
{
	return document_add_number(object, "schema", REPORT_SCHEMA) &&
	       document_add_text(object, "program", report->program) &&
	       document_add_text(object, "version", PROJECT_VERSION) &&
	       document_add_text(object, "mode", report->mode) &&
	       document_add_text(object, "device", report->device) &&
	       document_add_text(object, "peer", report->peer) &&
	       document_add_text(object, "verdict", verdict(report->status)) &&
	       document_add_number(object, "status", report->status) &&
	       document_add_text(object, "error", report->error) &&
	       document_add_boolean(object, "secret", report->secret) &&
	       document_add_text(object, "digest", digest_name(report->secret)) &&
	       add_seconds(object, report->seconds) &&
	       document_add_number(object, "chunk", report->chunk) &&
	       document_add_number(object, "depth", report->depth) &&
	       add_stream(object, "sent", &report->sent, report->seconds) &&
	       add_stream(object, "received", &report->received, report->seconds);
}

char *report_json(const struct report *report)
{
	struct json_object *object = json_object_new_object();
	const char *text = NULL;
	char *copy = NULL;

	if (object && fill(object, report))
		text = document_line(object);
	if (text)
		copy = strdup(text);
	json_object_put(object);
	return copy;
}

void report_print(const struct report *report)
{
	char *text = report_json(report);

	output_document(text);
	free(text);
}

int report_summary(
	char *text, size_t size, bool sent, const struct report_stream *stream, double seconds)
{
	char part[UNITS_TEXT], moved[UNITS_TEXT + 3] = "", rate[UNITS_TEXT + 2] = "";
	char end[DIGEST_TEXT_SIZE + 16] = "incomplete", hash[DIGEST_TEXT_SIZE];
	char name[2 + TEXT_ESCAPED_SIZE(NAME_SIZE_MAX)] = "";
	double bytes_per_second = rate_of(stream, seconds);

	if (stream->bytes >= 1000)
		snprintf(moved, sizeof(moved), " (%s)", units_format(part, stream->bytes));
	if (bytes_per_second >= 0)
		snprintf(rate, sizeof(rate), ", %s",
			units_format_rate(part, (uint64_t)bytes_per_second));
	if (stream->complete) {
		digest_text(hash, &stream->digest);
		snprintf(end, sizeof(end), "%s %s", digest_name(stream->keyed), hash);
	}
	if (stream->name) {
		strcpy(name, ": ");
		text_escape_utf8(name + 2, stream->name, strnlen(stream->name, NAME_SIZE_MAX));
	}
	return snprintf(text, size, "%s %" PRIu64 " byte%s%s in %s%s, %s%s",
		sent ? "sent" : "received", stream->bytes, stream->bytes == 1 ? "" : "s", moved,
		units_format_duration(part, (int64_t)(sane(seconds) * 1000)), rate, end, name);
}
