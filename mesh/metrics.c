/* See mesh/metrics.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/metrics-file.h"
#include "mesh/metrics.h"
#include "mesh/polish.h"

struct metrics {
	struct metrics_file *file;
	const struct judgement *judgement;
	unsigned int rail;
	const struct mesh_results *results; /* of the rail */
	double *scratch;                    /* a number for each host */
};

/* The median of what a host sends or receives, in bytes per second; 0: nothing was measured. */
static double rate_of(const struct metrics *metrics, unsigned int host, bool receives)
{
	size_t count = 0;

	for (unsigned int partner = 0; partner < metrics->results->list->count; partner++) {
		const struct mesh_result *result =
			receives ? results_bandwidth(metrics->results, partner, host)
				 : results_bandwidth(metrics->results, host, partner);

		if (host != partner && result->state >= MESH_BROKEN)
			metrics->scratch[count++] = (double)result->bytes_per_second;
	}
	return count ? polish_quantile(metrics->scratch, count, 0.5) : 0;
}

/* The median latency between a host and the others, in seconds; 0: unknown. */
static double latency_of(const struct metrics *metrics, unsigned int host)
{
	size_t count = 0;

	for (unsigned int partner = 0; partner < metrics->results->list->count; partner++) {
		const struct mesh_result *result = results_latency(metrics->results, host, partner);

		if (host != partner && result->state == MESH_GOOD)
			metrics->scratch[count++] = (double)result->median_ns / 1e9;
	}
	return count ? polish_quantile(metrics->scratch, count, 0.5) : 0;
}

/* The number of findings that name a host. */
static double findings_of(const struct metrics *metrics, unsigned int host)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < metrics->judgement->count; i++) {
		const struct finding *finding = &metrics->judgement->findings[i];
		const struct accusation *accusation = &finding->accusation;

		if (finding->kind == VERDICT_LINK || accusation->kind <= ACCUSED_GROUPS ||
			(finding->rail != VERDICT_ALL_RAILS && finding->rail != metrics->rail))
			continue;
		count += accusation->one == host ||
			 (accusation->kind >= ACCUSED_PAIR && accusation->other == host);
	}
	return count;
}

static double sends(const struct metrics *metrics, unsigned int host)
{
	return rate_of(metrics, host, false);
}

static double receives(const struct metrics *metrics, unsigned int host)
{
	return rate_of(metrics, host, true);
}

static double takes_part(const struct metrics *metrics, unsigned int host)
{
	const struct coordinator *coordinator = metrics->judgement->coordinator;

	return coordinator_is_ready(coordinator, host, metrics->results->rail, MESH_FROM) &&
	       coordinator_is_ready(coordinator, host, metrics->results->rail, MESH_TO);
}

/* Moves on to a rail. */
static void choose_rail(struct metrics *metrics, unsigned int rail)
{
	metrics->rail = rail;
	metrics->results = &metrics->judgement->results[rail];
}

/* Adds a value of a host, with the rail if it has a name. */
static void put_value(const struct metrics *metrics, unsigned int host, double value)
{
	const struct mesh_results *results = metrics->results;

	metrics->file->labels[0] = (struct metrics_label){"host", results->list->names[host]};
	metrics->file->labels[1] =
		(struct metrics_label){"rail", results->named ? results->rail->name : NULL};
	metrics_file_value(metrics->file, NULL, value);
}

static void put_hosts(struct metrics *metrics)
{
	static const struct {
		const char *name, *help;
		double (*value)(const struct metrics *metrics, unsigned int host);
		bool known; /* 0 is a value, too */
	} rows[] = {
		{"host_up", "Whether the host was tested.", takes_part, true},
		{"host_findings", "Findings that name the host.", findings_of, true},
		{"host_send_bytes_per_second", "Median rate to the other hosts.", sends, false},
		{"host_receive_bytes_per_second", "Median rate from the other hosts.", receives,
			false},
		{"host_latency_seconds", "Median of the latencies to the other hosts.", latency_of,
			false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		metrics_file_family(metrics->file, rows[i].name, rows[i].help);
		for (unsigned int rail = 0; rail < metrics->judgement->rail_count; rail++) {
			choose_rail(metrics, rail);
			for (unsigned int host = 0; host < metrics->results->list->count; host++) {
				double value = rows[i].value(metrics, host);

				if (value > 0 || rows[i].known)
					put_value(metrics, host, value);
			}
		}
	}
}

static void put_totals(const struct metrics *metrics)
{
	const struct judgement *judgement = metrics->judgement;
	const struct {
		const char *state;
		unsigned int count;
	} rows[] = {{"healthy", judgement->good}, {"slow", judgement->slow},
		{"failed", judgement->broken}, {"not_measured", judgement->unmeasured},
		{"left_out", judgement->untried}};

	metrics_file_family(metrics->file, "directions", "Ordered pairs of hosts, by their state.");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		metrics_file_value(metrics->file, &(struct metrics_label){"state", rows[i].state},
			rows[i].count);
	metrics_file_family(metrics->file, "findings", "What is bad.");
	metrics_file_value(metrics->file, NULL, judgement->count);
	metrics_file_end(metrics->file);
}

int metrics_write(const struct judgement *judgement, const char *path)
{
	struct metrics_file file;
	struct metrics metrics = {.file = &file,
		.judgement = judgement,
		.scratch = calloc(judgement->coordinator->list->count, sizeof(double))};
	int error = metrics.scratch ? metrics_file_open(&file, path) : -ENOMEM;

	if (!error) {
		file.prefix = "rdma_mesh_";
		put_hosts(&metrics);
		file.labels[0] = (struct metrics_label){0};
		put_totals(&metrics);
		error = metrics_file_close(&file);
	}
	free(metrics.scratch);
	return error;
}
