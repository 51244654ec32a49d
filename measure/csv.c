/* The columns of both kinds of tests: paths in the JSON object of a result. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "measure/csv.h"

/* Size of a path's member, with terminator. */
#define MEMBER 64

#define OF_END(end) \
	end ".operations", end ".seconds", end ".bytes_per_second", \
		end ".worst_interval_bytes_per_second", end ".best_interval_bytes_per_second", \
		end ".operations_per_second", end ".cpu_seconds_per_gb"

/* Names are the paths, with '_' instead of '.'. */
static const char *const bandwidth_columns[] = {"size_bytes", "bytes_per_second", "threads",
	"queue_pairs", "depth", "poll", OF_END("here"), OF_END("there"), "here.lost_operations",
	"there.lost_operations", NULL};

static const char *const latency_columns[] = {"size_bytes", "poll", "here.operations",
	"latency_ns.minimum", "latency_ns.median", "latency_ns.p90", "latency_ns.p99",
	"latency_ns.p99_9", "latency_ns.p99_99", "latency_ns.maximum", "here.cpu_seconds",
	"there.cpu_seconds", "here.lost_operations", NULL};

void csv_head(char line[CSV_LINE], bool latency)
{
	const char *const *column = latency ? latency_columns : bandwidth_columns;

	*line = '\0';
	for (; *column; column++)
		text_append(line, CSV_LINE, "%s%s", *line ? "," : "", *column);
	for (char *dot = line; (dot = strchr(dot, '.'));)
		*dot = '_';
}

/* Returns the value at the path, NULL if there is none. */
static struct json_object *find(struct json_object *object, const char *path)
{
	char member[MEMBER];

	for (;;) {
		size_t size = strcspn(path, ".");

		snprintf(member, sizeof(member), "%.*s", (int)size, path);
		if (!json_object_is_type(object, json_type_object) ||
			!json_object_object_get_ex(object, member, &object))
			return NULL;
		if (!path[size])
			return object;
		path += size + 1;
	}
}

/* No value contains a comma or a quotation mark: all are numbers but the choice of --poll. */
void csv_row(char line[CSV_LINE], bool latency, struct json_object *result)
{
	const char *const *columns = latency ? latency_columns : bandwidth_columns;

	*line = '\0';
	for (size_t i = 0; columns[i]; i++) {
		struct json_object *value = find(result, columns[i]);

		text_append(line, CSV_LINE, "%s%s", i ? "," : "",
			value ? json_object_get_string(value) : "");
	}
}
