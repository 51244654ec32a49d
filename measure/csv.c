/* The columns of both kinds of tests: paths in the JSON object of a result. */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/json-document.h"
#include "base/text.h"
#include "measure/csv.h"

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

/* No value contains a comma or a quotation mark: all are numbers but the choice of --poll. */
void csv_row(char line[CSV_LINE], bool latency, struct json_object *result)
{
	const char *const *columns = latency ? latency_columns : bandwidth_columns;

	*line = '\0';
	for (size_t i = 0; columns[i]; i++) {
		struct json_object *value = document_find(result, columns[i]);

		text_append(line, CSV_LINE, "%s%s", i ? "," : "",
			value ? json_object_get_string(value) : "");
	}
}
