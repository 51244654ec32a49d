/* See mesh/judgement.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mesh/judgement.h"

/* The finding of this kind that accuses the host on a rail, or NULL. */
static struct finding *find_host(
	const struct verdict *verdict, enum verdict_kind kind, unsigned int host)
{
	for (unsigned int i = 0; i < verdict->count; i++) {
		struct finding *finding = &verdict->findings[i];

		if (finding->kind == kind && finding->accusation.one == host &&
			verdict_is_of_host(&finding->accusation))
			return finding;
	}
	return NULL;
}

/* True if the host takes part in a rail. */
static bool takes_part(const struct judgement *judgement, unsigned int rail, unsigned int host)
{
	const struct mesh_rail *of = judgement->results[rail].rail;

	return coordinator_is_ready(judgement->coordinator, host, of, MESH_FROM) ||
	       coordinator_is_ready(judgement->coordinator, host, of, MESH_TO);
}

/* True if there are several rails, and all in which the host takes part accuse it. */
static bool is_bad_on_all(
	const struct judgement *judgement, enum verdict_kind kind, unsigned int host)
{
	unsigned int count = 0;

	for (unsigned int rail = 0; rail < judgement->rail_count; rail++) {
		bool accused = find_host(&judgement->verdicts[rail], kind, host);

		count += accused;
		if (!accused && takes_part(judgement, rail, host))
			return false;
	}
	return count > 1;
}

/* Adds what one rail says of a host to what all of them say. */
static void add_accusation(struct accusation *all, const struct accusation *one, bool first)
{
	if (first) {
		*all = *one;
		return;
	}
	if (all->kind != one->kind)
		all->kind = ACCUSED_HOST;
	all->low += one->low;
	all->of += one->of;
	all->failed += one->failed;
	all->level = fmin(all->level, one->level);
}

/* Accuses a host instead of its devices: with the evidence of each rail. */
static void accuse_host(struct judgement *judgement, enum verdict_kind kind, unsigned int host)
{
	struct finding *all = &judgement->findings[judgement->count++];
	char evidence[VERDICT_TEXT_SIZE] = "";
	unsigned int count = 0;

	*all = (struct finding){.kind = kind, .rail = VERDICT_ALL_RAILS};
	for (unsigned int rail = 0; rail < judgement->rail_count; rail++) {
		const struct finding *one = find_host(&judgement->verdicts[rail], kind, host);

		if (!one)
			continue;
		add_accusation(&all->accusation, &one->accusation, count == 0);
		text_append(evidence, sizeof(evidence), "%s%s: %s", count++ > 0 ? "; " : "",
			judgement->results[rail].rail->name, one->text + one->evidence);
	}
	verdict_accuse(all->text, all->accusation.kind, judgement->coordinator->list->names[host],
		"",
		kind == VERDICT_LATENCY                         ? "late"
		: all->accusation.failed == all->accusation.low ? "broken"
								: "slow");
	text_append(all->text, sizeof(all->text), ", on all its rails: ");
	all->evidence = strlen(all->text);
	text_append(all->text, sizeof(all->text), "%s", evidence);
}

/* Adds a finding of a rail, unless one about its host stands for those of all rails. */
static void take_finding(
	struct judgement *judgement, unsigned int rail, const struct finding *finding)
{
	unsigned int host = finding->accusation.one;
	bool first = true;

	for (unsigned int before = 0; before < rail; before++)
		first &= !find_host(&judgement->verdicts[before], finding->kind, host);
	if (finding->kind == VERDICT_HOST &&
		judgement->coordinator->hosts[host].state != MESH_HOST_READY && !first)
		return;
	if (finding->kind <= VERDICT_LATENCY && verdict_is_of_host(&finding->accusation) &&
		is_bad_on_all(judgement, finding->kind, host)) {
		if (first)
			accuse_host(judgement, finding->kind, host);
		return;
	}
	judgement->findings[judgement->count] = *finding;
	judgement->findings[judgement->count++].rail =
		finding->kind == VERDICT_HOST &&
				judgement->coordinator->hosts[host].state != MESH_HOST_READY
			? VERDICT_ALL_RAILS
			: rail;
}

/* Adds up what the rails have in numbers. */
static void count_rail(struct judgement *judgement, const struct verdict *verdict)
{
	judgement->directions += verdict->directions;
	judgement->good += verdict->good;
	judgement->slow += verdict->slow;
	judgement->broken += verdict->broken;
	judgement->unmeasured += verdict->unmeasured;
	judgement->untried += verdict->untried;
	judgement->decided &= verdict->decided;
	for (unsigned int i = 0; i < judgement->coordinator->list->count; i++)
		judgement->drained[i] |= verdict->drained[i];
}

int judgement_make(struct judgement *judgement, const struct mesh_results *results,
	const struct coordinator *coordinator)
{
	size_t most = 1;

	*judgement = (struct judgement){
		.coordinator = coordinator,
		.results = results,
		.rail_count = coordinator->rail_count,
		.verdicts = calloc(coordinator->rail_count, sizeof(judgement->verdicts[0])),
		.drained = calloc(coordinator->list->count, 1),
		.decided = true,
	};
	if (!judgement->verdicts || !judgement->drained)
		return -ENOMEM;
	for (unsigned int rail = 0; rail < judgement->rail_count; rail++) {
		struct verdict *verdict = &judgement->verdicts[rail];

		if (verdict_make(verdict, &results[rail], coordinator))
			return -ENOMEM;
		count_rail(judgement, verdict);
		most += verdict->count;
	}
	judgement->findings = calloc(most, sizeof(judgement->findings[0]));
	if (!judgement->findings)
		return -ENOMEM;
	for (unsigned int rail = 0; rail < judgement->rail_count; rail++)
		for (unsigned int i = 0; i < judgement->verdicts[rail].count; i++)
			take_finding(judgement, rail, &judgement->verdicts[rail].findings[i]);
	return 0;
}

void judgement_free(struct judgement *judgement)
{
	for (unsigned int rail = 0; judgement->verdicts && rail < judgement->rail_count; rail++)
		verdict_free(&judgement->verdicts[rail]);
	free(judgement->verdicts);
	free(judgement->findings);
	free(judgement->drained);
	*judgement = (struct judgement){0};
}

const char *judgement_rail(const struct judgement *judgement, const struct finding *finding)
{
	const char *name = finding->rail == VERDICT_ALL_RAILS
				   ? ""
				   : judgement->results[finding->rail].rail->name;

	return *name ? name : NULL;
}

void judgement_typical(const struct judgement *judgement, char *text, size_t size)
{
	*text = '\0';
	for (unsigned int rail = 0; rail < judgement->rail_count; rail++) {
		const struct verdict *verdict = &judgement->verdicts[rail];
		char rate[MESH_RATE_SIZE], latency[MESH_RATE_SIZE];

		if (verdict->good == 0 || verdict->latency.measured == 0 || verdict->of_link)
			continue;
		results_rate_text(rate, exp(verdict->bandwidth.typical));
		results_latency_text(latency, (uint64_t)exp(-verdict->latency.typical));
		text_append(text, size, "%s", *text ? "; " : "");
		if (judgement->rail_count > 1)
			text_append(text, size, "%s: ", judgement->results[rail].rail->name);
		text_append(text, size, "%s, %s", rate, latency);
	}
}

double judgement_limit(const struct judgement *judgement, const char **rail)
{
	double least = 1;

	*rail = "";
	for (unsigned int i = 0; i < judgement->rail_count; i++) {
		const struct localisation *by = &judgement->verdicts[i].bandwidth;
		double limit = exp(by->limit - by->typical);

		if (by->measured == 0 || limit >= least)
			continue;
		least = limit;
		if (judgement->rail_count > 1)
			*rail = judgement->results[i].rail->name;
	}
	return least;
}
