/* See diagnose/metrics.h. Each value that is unknown is left out; the verdict never is. */
#include <unistd.h>

#include "base/metrics-file.h"
#include "diagnose/metrics.h"

/* Size of the name of this host, with terminator: HOST_NAME_MAX of limits.h. */
#define HOST_NAME_SIZE 65

/* The words of check_list_verdict_word(). */
static const char *const verdicts[] = {
	"healthy", "ready", "incomplete", "impaired", "broken", "unknown", NULL};

static void put_value(
	struct metrics_file *metrics, const char *name, const char *help, double value)
{
	if (value <= 0)
		return;
	metrics_file_family(metrics, name, help);
	metrics_file_value(metrics, NULL, value);
}

static void put_labels(
	struct metrics_file *metrics, const struct diagnosis *diagnosis, const char *host_name)
{
	const struct options *options = diagnosis->options;
	const struct metrics_label labels[] = {
		{"host", host_name},
		{"peer", options->host},
		{"device", diagnosis->device ? diagnosis->device->name : options->device},
		{"bootstrap", !options->host                        ? NULL
			      : options->bootstrap == BOOTSTRAP_TCP ? "tcp"
								    : "rdmacm"},
	};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		metrics->labels[i] = labels[i];
}

static void put_all(struct metrics_file *metrics, const struct diagnosis *diagnosis)
{
	const struct metrics_outcome outcome = {verdicts, check_list_verdict_word(&diagnosis->list),
		check_list_status(&diagnosis->list)};

	metrics->prefix = "rdma_diagnose_";
	metrics_file_outcome(metrics, &outcome);
	put_value(metrics, "round_trip_seconds", "Shortest time of a message and its reply.",
		(double)diagnosis->round_trip / 1e9);
	put_value(metrics, "send_bytes_per_second", "Rate to the peer.",
		(double)diagnosis->rate_there);
	put_value(metrics, "receive_bytes_per_second", "Rate from the peer.",
		(double)diagnosis->rate_back);
	put_value(metrics, "path_mtu_bytes", "Size of the largest IP packet that arrived.",
		diagnosis->path_mtu);
}

enum exit_status diagnosis_metrics_write(const struct diagnosis *diagnosis, enum exit_status status)
{
	const char *path = diagnosis->options->metrics;
	char host_name[HOST_NAME_SIZE] = "";
	struct metrics_file metrics;
	int error = metrics_file_open(&metrics, path);

	if (!error) {
		gethostname(host_name, sizeof(host_name) - 1);
		put_labels(&metrics, diagnosis, host_name);
		put_all(&metrics, diagnosis);
		error = metrics_file_close(&metrics);
	}
	return metrics_file_status(&diagnosis->output, path, error, status);
}
