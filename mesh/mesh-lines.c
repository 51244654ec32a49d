/* See mesh/mesh-lines.h. */
#include <json-c/json.h>
#include <math.h>

#include "base/envelope.h"
#include "base/json-document.h"
#include "mesh/mesh-lines.h"

static struct json_object *line_of(const char *type)
{
	struct json_object *line = json_object_new_object();

	document_add_text(line, "type", type);
	return line;
}

struct json_object *mesh_line_host(
	const struct coordinator *coordinator, unsigned int host, const struct mesh_rail *rail)
{
	static const char *const states[] = {
		[MESH_HOST_ABSENT] = "absent",
		[MESH_HOST_STARTING] = "absent",
		[MESH_HOST_READY] = "ready",
		[MESH_HOST_UNUSABLE] = "unusable",
		[MESH_HOST_LOST] = "lost",
	};
	static const struct mesh_facts unknown;
	const struct mesh_host *of = &coordinator->hosts[host];
	const struct mesh_device *device =
		coordinator_rail_device(coordinator, host, rail, MESH_FROM);
	const struct mesh_facts *facts = device ? &device->facts : &unknown;
	const char *reason = coordinator_reason(coordinator, host, rail, MESH_FROM);
	bool lacks_device = reason && of->state == MESH_HOST_READY;
	struct json_object *line = line_of("host");

	document_add_text(line, "host", coordinator->list->names[host]);
	document_add_known_text(line, "rail", rail->name);
	document_add_text(line, "state", states[lacks_device ? MESH_HOST_UNUSABLE : of->state]);
	document_add_text(line, "reason", reason);
	document_add_known_text(line, "warning", of->warning);
	document_add_known_text(line, "device", facts->device);
	document_add_known_text(line, "driver", facts->driver);
	document_add_known_text(line, "firmware", facts->firmware);
	document_add_known_text(line, "rate", facts->rate);
	document_add_known_text(line, "link_layer", facts->link_layer);
	document_add_known_text(line, "gid_type", facts->gid_type);
	document_add_known(line, "interface_mtu", facts->interface_mtu);
	document_add_known_text(line, "kernel", of->facts.kernel);
	document_add_known_text(line, "version", of->facts.version);
	return document_filled(line);
}

struct json_object *mesh_line_test(const struct coordinator *coordinator,
	const struct mesh_test *test, const struct mesh_outcome *outcome, const char *stage)
{
	struct json_object *line = line_of(test->latency ? "latency" : "bandwidth");

	document_add_text(line, "stage", stage);
	document_add_known_text(line, "rail", coordinator->rails[test->rail].name);
	document_add_text(line, "from", coordinator->list->names[test->from]);
	document_add_text(line, "to", coordinator->list->names[test->to]);
	document_add_text(line, "result",
		outcome->good       ? "measured"
		: outcome->measured ? "failed"
				    : "not measured");
	document_add_number(line, "start_ms", (uint64_t)outcome->start_ms);
	document_add_number(line, "end_ms", (uint64_t)outcome->end_ms);
	if (test->latency) {
		document_add_known(line, "median_ns", outcome->median_ns);
		document_add_known(line, "p99_ns", outcome->p99_ns);
	} else {
		document_add_known(line, "bytes_per_second", outcome->bytes_per_second);
		document_add_known(line, "link_bytes_per_second", outcome->link_bytes_per_second);
	}
	document_add_known_text(line, "message", outcome->message);
	return document_filled(line);
}

struct json_object *mesh_line_finding(
	const struct judgement *judgement, const struct finding *finding)
{
	const struct mesh_results *results = judgement->results;
	static const char *const evidence[] = {
		[VERDICT_BANDWIDTH] = "bandwidth",
		[VERDICT_LATENCY] = "latency",
		[VERDICT_HOST] = "agent",
		[VERDICT_LINK] = "link",
	};
	const struct accusation *accusation = &finding->accusation;
	struct json_object *line = line_of("finding");
	bool pair = accusation->kind >= ACCUSED_PAIR || accusation->kind == ACCUSED_GROUPS;

	document_add_text(line, "evidence", evidence[finding->kind]);
	document_add_text(line, "culprit",
		finding->kind == VERDICT_LINK ? "unknown"
		: accusation->undecided       ? "undecided"
					      : verdict_kind_name(accusation->kind));
	document_add_text(line, "rail", judgement_rail(judgement, finding));
	document_add_text(line, "host",
		finding->kind == VERDICT_LINK
			? NULL
			: verdict_culprit(results, accusation, accusation->one));
	document_add_text(line, "other",
		pair ? verdict_culprit(results, accusation, accusation->other) : NULL);
	document_add_number(line, "low", accusation->low);
	document_add_number(line, "of", accusation->of);
	document_add_number(line, "failed", accusation->failed);
	if (finding->kind <= VERDICT_LATENCY)
		document_add_decimal(line, "level", accusation->level, 4);
	else
		document_add_null(line, "level");
	document_add_text(line, "text", finding->text);
	return document_filled(line);
}

/* Adds numbers of directions: those of a rail, or of all. */
static void add_directions(struct json_object *line, unsigned int directions, unsigned int healthy,
	unsigned int slow, unsigned int failed, unsigned int not_measured, unsigned int left_out)
{
	document_add_number(line, "directions", directions);
	document_add_number(line, "healthy", healthy);
	document_add_number(line, "slow", slow);
	document_add_number(line, "failed", failed);
	document_add_number(line, "not_measured", not_measured);
	document_add_number(line, "left_out", left_out);
}

/* Adds what is typical of a rail; nothing of several. */
static void add_typical(struct json_object *line, const struct verdict *verdict)
{
	bool measured = verdict && verdict->good + verdict->slow > 0 && !verdict->of_link;

	document_add_known(line, "typical_bytes_per_second",
		measured ? (uint64_t)exp(verdict->bandwidth.typical) : 0);
	document_add_known(line, "typical_latency_ns",
		verdict && verdict->latency.measured ? (uint64_t)exp(-verdict->latency.typical)
						     : 0);
	if (verdict)
		document_add_decimal(line, "noise", verdict->bandwidth.noise, 4);
	else
		document_add_null(line, "noise");
}

struct json_object *mesh_line_rail(const struct judgement *judgement, unsigned int rail)
{
	const struct verdict *verdict = &judgement->verdicts[rail];
	struct json_object *line = line_of("rail");

	document_add_text(line, "rail", judgement->results[rail].rail->name);
	add_directions(line, verdict->directions, verdict->good, verdict->slow, verdict->broken,
		verdict->unmeasured, verdict->untried);
	document_add_number(line, "findings", verdict->count);
	add_typical(line, verdict);
	return document_filled(line);
}

struct json_object *mesh_line_summary(const struct judgement *judgement, enum exit_status status,
	const char *word, const char *message, unsigned int rounds)
{
	const struct envelope envelope = {.program = "rdma-client",
		.command = "mesh",
		.status = status,
		.verdict = word,
		.message = message};
	struct json_object *line = envelope_json(&envelope);

	document_add_text(line, "type", "summary");
	document_add_text(line, "via", launcher_name(&judgement->coordinator->launcher));
	document_add_number(line, "hosts", judgement->coordinator->list->count);
	document_add_number(line, "rails", judgement->rail_count);
	document_add_number(line, "rounds", rounds);
	add_directions(line, judgement->directions, judgement->good, judgement->slow,
		judgement->broken, judgement->unmeasured, judgement->untried);
	document_add_number(line, "findings", judgement->count);
	add_typical(line, judgement->rail_count == 1 ? judgement->verdicts : NULL);
	return document_filled(line);
}
