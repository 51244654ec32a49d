/* The first members of JSON documents: see base/envelope.h. */
#include <json-c/json.h>
#include <time.h>

#include "base/envelope.h"
#include "base/explain.h"
#include "base/json-document.h"
#include "base/version.h"

/* Adds the current time as in "2026-01-31T12:34:56Z": RFC 3339. */
static void add_time(struct json_object *object)
{
	time_t now = time(NULL);
	struct tm utc;
	char text[32];

	strftime(text, sizeof(text), "%FT%TZ", gmtime_r(&now, &utc));
	document_add_text(object, "time", text);
}

static struct json_object *error_json(const struct failure *failure, bool same_host)
{
	const struct explanation *row = explain(failure->kind, failure->phase, failure->code);
	struct json_object *object = json_object_new_object();

	document_add_text(object, "cause", row->cause ? row->cause : failure->evidence);
	document_add_boolean(object, "guess", row->guess);
	document_add_known_text(object, "evidence", row->cause ? failure->evidence : "");
	document_add_text(object, "side", explain_side(same_host ? SIDE_HERE : row->side));
	document_add_text(object, "fix", row->remedy);
	return document_filled(object);
}

struct json_object *envelope_json(const struct envelope *envelope)
{
	struct json_object *object = json_object_new_object();

	document_add_number(object, "schema", ENVELOPE_SCHEMA);
	document_add_text(object, "program", envelope->program);
	document_add_text(object, "version", PROJECT_VERSION);
	document_add_text(object, "command", envelope->command);
	add_time(object);
	document_add_number(object, "status", envelope->status);
	document_add_text(object, "verdict", envelope->verdict);
	document_add_text(object, "message", envelope->message);
	if (envelope->failure && failure_is_set(envelope->failure))
		document_add(object, "error", error_json(envelope->failure, envelope->same_host));
	else
		document_add_null(object, "error");
	return object;
}
