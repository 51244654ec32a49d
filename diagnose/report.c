/*
 * The JSON document of a diagnosis: the results of all checks, the facts and counters of both ends,
 * and the inventory of this host. The diagnosis is only read; the document belongs to the caller.
 */
#include <json-c/json.h>

#include "base/envelope.h"
#include "base/json-document.h"
#include "diagnose/inventory-report.h"
#include "diagnose/operations-check.h"
#include "diagnose/report.h"

static struct json_object *bandwidth_json(const struct diagnosis *diagnosis)
{
	struct json_object *object = json_object_new_object();

	document_add_known(object, "there", diagnosis->rate_there);
	document_add_known(object, "back", diagnosis->rate_back);
	return object;
}

/* An empty list means unknown: NULL. */
static const struct counters *known(const struct counters *counters)
{
	return counters->count > 0 ? counters : NULL;
}

struct json_object *diagnosis_report_json(const struct diagnosis *diagnosis)
{
	const struct check_list *list = &diagnosis->list;
	enum check broken = check_list_broken(list);
	char verdict[512];
	const struct envelope envelope = {
		.program = diagnosis->output.program,
		.command = "diagnose",
		.status = check_list_status(list),
		.verdict = check_list_verdict_word(list),
		.message = verdict,
		.failure = broken < CHECKS ? &list->checks[broken].failure : NULL,
		.same_host = list->same_host,
	};
	struct json_object *object;

	check_list_verdict(list, verdict, sizeof(verdict));
	object = envelope_json(&envelope);
	document_add_text(object, "host", diagnosis->options->host);
	document_add_number(
		object, "port", diagnosis->options->host ? diagnosis->options->port : 0);
	document_add(object, "checks", check_list_json(list));
	document_add_known(object, "path_mtu", diagnosis->path_mtu);
	document_add_known(object, "round_trip", diagnosis->round_trip);
	document_add(object, "bandwidth", bandwidth_json(diagnosis));
	document_add(object, "counters",
		counters_of_both_json(
			known(&diagnosis->counted_here), known(&diagnosis->counted_there)));
	document_add(object, "operations", operations_check_json(diagnosis->operations));
	document_add(object, "here", facts_json(&diagnosis->ours));
	document_add(object, "there", facts_json(&diagnosis->theirs));
	document_add(object, "inventory", inventory_json(&diagnosis->inventory));
	return document_filled(object);
}
