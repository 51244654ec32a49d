/* The document of a diagnosis. */
#include <json-c/json.h>

#include "base/json-document.h"
#include "base/version.h"
#include "diagnose/inventory-report.h"
#include "diagnose/report.h"

static bool add_bandwidth(struct json_object *object, const struct diagnosis *diagnosis)
{
	struct json_object *bandwidth = document_add_object(object, "bandwidth");

	return bandwidth && document_add_known(bandwidth, "there", diagnosis->rate_there) &&
	       document_add_known(bandwidth, "back", diagnosis->rate_back);
}

static bool add_counted(struct json_object *object, const char *key, const struct counters *counted)
{
	return counted->count > 0 ? document_add_value(object, key, counters_json(counted))
				  : document_add(object, key, NULL);
}

static bool add_counters(struct json_object *object, const struct diagnosis *diagnosis)
{
	struct json_object *counters = document_add_object(object, "counters");

	return counters && add_counted(counters, "here", &diagnosis->counted_here) &&
	       add_counted(counters, "there", &diagnosis->counted_there);
}

static bool fill(struct json_object *object, const struct diagnosis *diagnosis)
{
	const struct check_list *list = &diagnosis->list;
	char verdict[512];

	check_list_verdict(list, verdict, sizeof(verdict));
	return document_add_number(object, "schema", 1) &&
	       document_add_text(object, "program", diagnosis->output.program) &&
	       document_add_text(object, "version", PROJECT_VERSION) &&
	       document_add_text(object, "host", diagnosis->options->host) &&
	       document_add_number(object, "port", diagnosis->options->port) &&
	       document_add_text(object, "verdict", verdict) &&
	       document_add_number(object, "status", check_list_status(list)) &&
	       document_add_value(object, "rungs", check_list_json(list)) &&
	       document_add_known(object, "path_mtu", diagnosis->path_mtu) &&
	       add_bandwidth(object, diagnosis) && add_counters(object, diagnosis) &&
	       document_add_value(object, "here", facts_json(&diagnosis->ours)) &&
	       document_add_value(object, "there", facts_json(&diagnosis->theirs)) &&
	       document_add_value(object, "inventory", inventory_json(&diagnosis->inventory));
}

struct json_object *diagnosis_report_json(const struct diagnosis *diagnosis)
{
	struct json_object *object = json_object_new_object();

	return document_filled(object, object && fill(object, diagnosis));
}
