#include <json-c/json.h>

#include "base/json-document.h"
#include "base/version.h"
#include "diagnose/inventory-report.h"
#include "diagnose/report.h"

static bool add_bandwidth(struct json_object *object, const struct diagnosis_report *findings)
{
	struct json_object *bandwidth = document_add_object(object, "bandwidth");

	return bandwidth && document_add_known(bandwidth, "there", findings->rate_there) &&
	       document_add_known(bandwidth, "back", findings->rate_back);
}

static bool add_counted(struct json_object *object, const char *key, const struct counters *counted)
{
	return counted->count > 0 ? document_add_value(object, key, counters_json(counted))
				  : document_add(object, key, NULL);
}

static bool add_counters(struct json_object *object, const struct diagnosis_report *findings)
{
	struct json_object *counters = document_add_object(object, "counters");

	return counters && add_counted(counters, "here", findings->counted_here) &&
	       add_counted(counters, "there", findings->counted_there);
}

static bool fill(struct json_object *object, const struct diagnosis_report *findings)
{
	const struct check_list *list = findings->list;
	char verdict[512];

	check_list_verdict(list, verdict, sizeof(verdict));
	return document_add_number(object, "schema", 1) &&
	       document_add_text(object, "program", findings->program) &&
	       document_add_text(object, "version", PROJECT_VERSION) &&
	       document_add_text(object, "host", findings->host) &&
	       document_add_number(object, "port", findings->port) &&
	       document_add_text(object, "verdict", verdict) &&
	       document_add_number(object, "status", check_list_status(list)) &&
	       document_add_value(object, "rungs", check_list_json(list)) &&
	       document_add_known(object, "path_mtu", findings->path_mtu) &&
	       add_bandwidth(object, findings) && add_counters(object, findings) &&
	       document_add_value(object, "here", facts_json(findings->here)) &&
	       document_add_value(object, "there", facts_json(findings->there)) &&
	       document_add_value(object, "inventory", inventory_json(findings->inventory));
}

struct json_object *diagnosis_report_json(const struct diagnosis_report *findings)
{
	struct json_object *object = json_object_new_object();

	return document_filled(object, object && fill(object, findings));
}
