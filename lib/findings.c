#include <json-c/json.h>

#include "document.h"
#include "findings.h"
#include "options.h"

/* A number that is null if it is 0. */
static bool add_known(struct json_object *object, const char *key, uint64_t number)
{
	return number ? document_add_number(object, key, number) : document_add(object, key, NULL);
}

/* Adds an empty object, which belongs to the other, and returns it; NULL: there is no memory. */
static struct json_object *add_object(struct json_object *object, const char *key)
{
	struct json_object *child = json_object_new_object();

	return document_add_value(object, key, child) ? child : NULL;
}

static bool add_bandwidth(struct json_object *object, const struct findings *findings)
{
	struct json_object *bandwidth = add_object(object, "bandwidth");

	return bandwidth && add_known(bandwidth, "there", findings->rate_there) &&
	       add_known(bandwidth, "back", findings->rate_back);
}

static bool add_counted(struct json_object *object, const char *key, const struct counters *counted)
{
	return counted->count > 0 ? document_add_value(object, key, counters_json(counted))
				  : document_add(object, key, NULL);
}

static bool add_counters(struct json_object *object, const struct findings *findings)
{
	struct json_object *counters = add_object(object, "counters");

	return counters && add_counted(counters, "here", findings->counted_here) &&
	       add_counted(counters, "there", findings->counted_there);
}

static bool fill(struct json_object *object, const struct findings *findings)
{
	const struct ladder *ladder = findings->ladder;
	char verdict[512];

	ladder_verdict(ladder, verdict, sizeof(verdict));
	return document_add_number(object, "schema", 1) &&
	       document_add_text(object, "program", findings->program) &&
	       document_add_text(object, "version", PROJECT_VERSION) &&
	       document_add_text(object, "host", findings->host) &&
	       document_add_number(object, "port", findings->port) &&
	       document_add_text(object, "verdict", verdict) &&
	       document_add_number(object, "status", ladder_status(ladder)) &&
	       document_add_value(object, "rungs", ladder_json(ladder)) &&
	       add_known(object, "path_mtu", findings->path_mtu) &&
	       add_bandwidth(object, findings) && add_counters(object, findings) &&
	       document_add_value(object, "here", facts_json(findings->here)) &&
	       document_add_value(object, "there", facts_json(findings->there)) &&
	       document_add_value(object, "inventory", inventory_json(findings->inventory));
}

struct json_object *findings_json(const struct findings *findings)
{
	struct json_object *object = json_object_new_object();

	if (object && !fill(object, findings)) {
		json_object_put(object);
		object = NULL;
	}
	return object;
}
