/*
 * See mesh/localise.h. Low directions are explained one culprit at a time: of all lines of the
 * table (what a host sends, what it receives), the one of which the largest share is low is accused
 * first, and its directions no longer count for the others.
 */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mesh/localise.h"
#include "mesh/polish.h"

/* A failed direction takes part in the polish as one that is slower by this, e^7. */
#define FAILED_DEPTH 7.0

/*
 * A direction is low beyond this many standard deviations of the noise. Where many directions of a
 * host or group are low, less is enough for each; their mean must be as significant as this.
 */
#define NOISE_FACTOR 5.0
#define LINE_FACTOR  1.25
#define MEAN_FACTOR  4.5

/* How much a single direction can lower a mean, as a logarithm. */
#define DEPTH_MAX 3.0

/* Less than one of this many tables of pure noise has a low direction. */
#define TABLES 100.0

#define PARTNERS_MIN 3

/* The state of the search. `open`: measured, and not explained by an accusation so far. */
struct search {
	struct localisation *result;
	unsigned char *open;
	unsigned char *level; /* of each cell: LEVEL_... */
	unsigned char *alive; /* of each host: some direction to or from it is not low */
	double *scratch;
	size_t capacity; /* of the accusations */
};

enum { LEVEL_GOOD, LEVEL_LOW_IN_LINE, LEVEL_LOW };

/* Cells of the table, and how many of them are low. */
struct share {
	unsigned int of, low, failed;
	double depth; /* the sum of what they are below the typical value */
};

/*
 * True if these cells accuse the host or group that they have in common, with this noise of the
 * others.
 */
static bool is_significant(const struct search *search, struct share share, double noise)
{
	const struct localisation *result = search->result;

	return share.of >= PARTNERS_MIN && 3 * share.low >= 2 * share.of &&
	       share.depth / share.of >=
		       fmax(result->tolerance, MEAN_FACTOR * noise / sqrt(share.of));
}

static bool is_enough(const struct search *search, struct share share)
{
	return is_significant(search, share, search->result->noise);
}

static bool is_measured(const struct localisation *result, size_t cell)
{
	return result->values[cell] > MESH_UNMEASURED;
}

/* How far the cell is below the typical value. */
static double depth_of(const struct search *search, size_t cell)
{
	return fmin(DEPTH_MAX, search->result->typical - search->result->values[cell]);
}

static void count_cell(const struct search *search, size_t cell, struct share *share)
{
	share->of++;
	share->depth += depth_of(search, cell);
	share->low += search->level[cell] != LEVEL_GOOD;
	share->failed += search->result->values[cell] <= MESH_FAILED;
}

/* The cell of a host and a partner: what the host sends or, for an ingress, what it receives. */
static size_t cell_of(
	const struct localisation *result, bool ingress, unsigned int host, unsigned int partner)
{
	return ingress ? (size_t)partner * result->hosts + host
		       : (size_t)host * result->hosts + partner;
}

/* Open cells of a line, with partners of which some direction is good. */
static struct share share_of_line(const struct search *search, bool ingress, unsigned int host)
{
	struct share share = {0};

	for (unsigned int partner = 0; partner < search->result->hosts; partner++) {
		size_t cell = cell_of(search->result, ingress, host, partner);

		if (search->open[cell] && search->alive[partner])
			count_cell(search, cell, &share);
	}
	return share;
}

/* The median of these cells, relative to the typical value; 0: nothing was transferred. */
static double level_of(struct search *search, size_t count)
{
	double median = count ? polish_quantile(search->scratch, count, 0.5) : MESH_FAILED;

	return median <= MESH_FAILED / 2 ? 0 : exp(median - search->result->typical);
}

/* Adds an accusation, whose counts and level are set from the cells for which `has` is true. */
static int accuse(struct search *search, struct accusation accusation,
	bool (*has)(const struct localisation *result, const struct accusation *accusation,
		unsigned int from, unsigned int to))
{
	struct localisation *result = search->result;
	struct share share = {0};
	size_t low = 0;

	for (unsigned int from = 0; from < result->hosts; from++)
		for (unsigned int to = 0; to < result->hosts; to++) {
			size_t cell = (size_t)from * result->hosts + to;

			if (!is_measured(result, cell) || !has(result, &accusation, from, to))
				continue;
			count_cell(search, cell, &share);
			search->open[cell] = 0;
			if (search->level[cell] == LEVEL_GOOD)
				continue;
			result->low[cell] = 1;
			search->scratch[low++] = result->values[cell];
		}
	accusation.of = share.of;
	accusation.low = share.low;
	accusation.failed = share.failed;
	accusation.level = level_of(search, low);
	if (result->accusation_count == search->capacity) {
		size_t capacity = search->capacity ? 2 * search->capacity : 16;
		void *grown =
			realloc(result->accusations, capacity * sizeof(result->accusations[0]));

		if (!grown)
			return -ENOMEM;
		result->accusations = grown;
		search->capacity = capacity;
	}
	result->accusations[result->accusation_count++] = accusation;
	return 0;
}

/* Which directions an accusation explains. */

static bool has_line(const struct localisation *result, const struct accusation *accusation,
	unsigned int from, unsigned int to)
{
	(void)result;
	return (accusation->kind != ACCUSED_INGRESS && from == accusation->one) ||
	       (accusation->kind != ACCUSED_EGRESS && to == accusation->one);
}

static bool has_pair(const struct localisation *result, const struct accusation *accusation,
	unsigned int from, unsigned int to)
{
	(void)result;
	return (from == accusation->one && to == accusation->other) ||
	       (accusation->kind == ACCUSED_PAIR && to == accusation->one &&
		       from == accusation->other);
}

static bool has_group(const struct localisation *result, const struct accusation *accusation,
	unsigned int from, unsigned int to)
{
	unsigned int one = result->groups[from], other = result->groups[to];

	if (one == other)
		return false;
	if (accusation->kind == ACCUSED_GROUPS)
		return one == accusation->one && other == accusation->other;
	return (accusation->kind != ACCUSED_GROUP_INGRESS && one == accusation->one) ||
	       (accusation->kind != ACCUSED_GROUP_EGRESS && other == accusation->one);
}

/* Groups. */

/* Counts the open cells that an accusation of groups would explain. */
static struct share share_of_groups(
	const struct search *search, const struct accusation *accusation)
{
	const struct localisation *result = search->result;
	struct share share = {0};

	for (unsigned int from = 0; from < result->hosts; from++)
		for (unsigned int to = 0; to < result->hosts; to++) {
			size_t cell = (size_t)from * result->hosts + to;

			if (search->open[cell] && has_group(result, accusation, from, to))
				count_cell(search, cell, &share);
		}
	return share;
}

/*
 * True if the group has several hosts, and at most a third of the directions between them are low,
 * and as slow as these cells: at least half as far below the typical value, on average.
 */
static bool is_healthy_inside(const struct search *search, unsigned int group, struct share outside)
{
	const struct localisation *result = search->result;
	const double depth = outside.depth / outside.of / 2;
	unsigned int members = 0, inside = 0, low = 0;

	for (unsigned int from = 0; from < result->hosts; from++) {
		members += result->groups[from] == group;
		for (unsigned int to = 0; to < result->hosts; to++) {
			size_t cell = (size_t)from * result->hosts + to;

			if (result->groups[from] != group || result->groups[to] != group ||
				!is_measured(result, cell))
				continue;
			inside++;
			low += search->level[cell] != LEVEL_GOOD && depth_of(search, cell) >= depth;
		}
	}
	return members > 1 && 3 * low <= inside;
}

/* True if these groups, which may be one, are bad towards others or each other. */
static bool are_bad(const struct search *search, const struct accusation *accusation)
{
	const struct share share = share_of_groups(search, accusation);

	return is_enough(search, share) && is_healthy_inside(search, accusation->one, share) &&
	       (accusation->kind != ACCUSED_GROUPS ||
		       is_healthy_inside(search, accusation->other, share));
}

static int accuse_groups(struct search *search)
{
	const struct localisation *result = search->result;
	const unsigned int count = result->groups ? result->group_count : 0;

	for (unsigned int group = 0; count > 2 && group < count; group++) {
		const struct accusation both = {.kind = ACCUSED_GROUP, .one = group};
		const struct accusation egress = {.kind = ACCUSED_GROUP_EGRESS, .one = group};
		const struct accusation ingress = {.kind = ACCUSED_GROUP_INGRESS, .one = group};
		const bool sends = are_bad(search, &egress), receives = are_bad(search, &ingress);
		const struct accusation bad = sends && receives ? both : sends ? egress : ingress;

		if ((sends || receives) && accuse(search, bad, has_group))
			return -ENOMEM;
	}
	for (unsigned int from = 0; from < count; from++)
		for (unsigned int to = 0; to < count; to++) {
			struct accusation one = {.kind = ACCUSED_GROUPS, .one = from, .other = to};

			if (from != to && are_bad(search, &one) && accuse(search, one, has_group))
				return -ENOMEM;
		}
	return 0;
}

/* Hosts. */

/* Makes an accusation of both directions out of two of the same host. */
static void join_lines(struct localisation *result)
{
	size_t kept = 0;

	for (size_t i = 0; i < result->accusation_count; i++) {
		struct accusation one = result->accusations[i];
		bool joined = false;

		for (size_t j = 0; j < kept && !joined; j++) {
			struct accusation *before = &result->accusations[j];

			if (before->one != one.one || before->kind < ACCUSED_EGRESS ||
				before->kind > ACCUSED_INGRESS || one.kind < ACCUSED_EGRESS ||
				one.kind > ACCUSED_INGRESS)
				continue;
			before->kind = ACCUSED_HOST;
			before->low += one.low;
			before->of += one.of;
			before->failed += one.failed;
			before->level = sqrt(before->level * one.level);
			joined = true;
		}
		if (!joined)
			result->accusations[kept++] = one;
	}
	result->accusation_count = kept;
}

/*
 * The spread of the open cells outside a line, whose own cells may be noisy because they are bad.
 */
static double noise_beside(const struct search *search, bool ingress, unsigned int host)
{
	const struct localisation *result = search->result;
	size_t count = 0;

	for (unsigned int from = 0; from < result->hosts; from++)
		for (unsigned int to = 0; to < result->hosts; to++) {
			size_t cell = (size_t)from * result->hosts + to;

			if (search->open[cell] && (ingress ? to : from) != host &&
				result->values[cell] > MESH_FAILED)
				search->scratch[count++] = result->values[cell];
		}
	return count ? polish_spread(search->scratch, count) : 0;
}

/* True if the share of a line accuses its host. */
static bool accuses(
	const struct search *search, struct share share, bool ingress, unsigned int host)
{
	double noise = search->result->noise;

	if (!is_significant(search, share, 0))
		return false;
	return is_significant(search, share, fmin(noise, noise_beside(search, ingress, host)));
}

/* Accuses the worst line. Returns 1 if there was one, 0 if not, or -ENOMEM. */
static int accuse_worst_line(struct search *search)
{
	struct accusation worst = {.kind = ACCUSED_EGRESS};
	double most = 0;

	for (unsigned int host = 0; host < search->result->hosts; host++)
		for (int ingress = 0; ingress < 2; ingress++) {
			struct share share = share_of_line(search, ingress, host);
			double part = accuses(search, share, ingress, host)
					      ? (double)share.low / share.of
					      : 0;

			if (part <= most)
				continue;
			most = part;
			worst.kind = ingress ? ACCUSED_INGRESS : ACCUSED_EGRESS;
			worst.one = host;
		}
	if (most <= 0)
		return 0;
	return accuse(search, worst, has_line) ? -ENOMEM : 1;
}

static int accuse_lines(struct search *search)
{
	int found;

	while ((found = accuse_worst_line(search)) > 0)
		;
	join_lines(search->result);
	return found;
}

/* Pairs. */

/* True if two thirds of all directions of the host are low, regardless of its partners. */
static bool is_suspect(const struct search *search, unsigned int host)
{
	const struct localisation *result = search->result;
	struct share share = {0};

	for (unsigned int partner = 0; partner < result->hosts; partner++)
		for (int ingress = 0; ingress < 2; ingress++) {
			size_t cell = cell_of(result, ingress, host, partner);

			if (is_measured(result, cell))
				count_cell(search, cell, &share);
		}
	return share.of > 2 && 3 * share.low >= 2 * share.of;
}

/* True if no direction between the host and any third one was measured. */
static bool has_one_partner(const struct search *search, unsigned int host, unsigned int partner)
{
	const struct localisation *result = search->result;

	for (unsigned int third = 0; third < result->hosts; third++)
		if (third != partner &&
			(is_measured(result, cell_of(result, false, host, third)) ||
				is_measured(result, cell_of(result, true, host, third))))
			return false;
	return true;
}

/* Sets whether a pair may stand for one of its hosts. */
static void doubt(const struct search *search, struct accusation *accusation)
{
	bool one = is_suspect(search, accusation->one),
	     other = is_suspect(search, accusation->other);
	bool alone = has_one_partner(search, accusation->one, accusation->other) &&
		     has_one_partner(search, accusation->other, accusation->one);

	accusation->undecided = alone || one != other;
	accusation->suspect = alone ? search->result->hosts
			      : one ? accusation->one
				    : accusation->other;
}

static int accuse_pairs(struct search *search)
{
	struct localisation *result = search->result;

	for (unsigned int from = 0; from < result->hosts; from++)
		for (unsigned int to = 0; to < result->hosts; to++) {
			size_t cell = (size_t)from * result->hosts + to;
			size_t back = (size_t)to * result->hosts + from;
			struct accusation one = {
				.kind = ACCUSED_DIRECTION, .one = from, .other = to};

			if (!search->open[cell] || search->level[cell] != LEVEL_LOW)
				continue;
			if (search->open[back] && search->level[back] == LEVEL_LOW)
				one.kind = ACCUSED_PAIR;
			doubt(search, &one);
			if (accuse(search, one, has_pair))
				return -ENOMEM;
		}
	return 0;
}

/* The table. */

/* Copies the values above this one. Returns their number. */
static size_t collect(const struct localisation *result, double least, double *numbers)
{
	size_t count = 0;

	for (size_t i = 0; i < (size_t)result->hosts * result->hosts; i++)
		if (result->values[i] > least)
			numbers[count++] = result->values[i];
	return count;
}

/* How many deviations a single direction must be low: the more there are, the more stand out. */
static double cell_factor(size_t count)
{
	return fmax(NOISE_FACTOR, sqrt(2 * log(TABLES * (double)count)));
}

/* How far below the typical value is low. */
static double allowance(const struct localisation *result, double factor)
{
	return fmax(result->tolerance, factor * result->noise);
}

/*
 * Computes the typical value, the noise and the limit. The polish sees failures as very slow
 * directions. The better half of the values is healthy even if one host of four is bad; the typical
 * value is the median of all that do not fall far below its middle.
 */
static void find_typical(struct localisation *result, double *table, double *scratch)
{
	size_t count = collect(result, MESH_FAILED, scratch), healthy;
	double middle, best;

	if (count == 0)
		return;
	best = polish_quantile(scratch, count, count == 2 ? 1 : 0.75);
	middle = polish_quantile(scratch, count, 0.5);
	for (size_t i = 0; i < (size_t)result->hosts * result->hosts; i++)
		table[i] = result->values[i] <= MESH_UNMEASURED ? MESH_UNMEASURED
			   : result->values[i] <= MESH_FAILED   ? middle - FAILED_DEPTH
								: result->values[i];
	result->noise =
		fmax(result->least_noise, polish_table(table, result->hosts, MESH_UNMEASURED,
						  result->egress, result->ingress, scratch)
						  .spread);
	healthy = collect(
		result, fmax(MESH_FAILED, best - allowance(result, cell_factor(count))), scratch);
	result->typical = polish_quantile(scratch, healthy, 0.5);
	result->limit = result->typical - allowance(result, cell_factor(count));
	result->line_limit = result->typical - allowance(result, LINE_FACTOR);
}

static unsigned char level_of_cell(const struct localisation *result, double value)
{
	if (value <= MESH_FAILED || value < result->limit || value < result->floor)
		return LEVEL_LOW;
	return value < result->line_limit ? LEVEL_LOW_IN_LINE : LEVEL_GOOD;
}

/* Sets the levels. Returns the number of cells that are not good. */
static unsigned int mark_low(struct search *search)
{
	struct localisation *result = search->result;
	unsigned int low = 0;

	for (unsigned int from = 0; from < result->hosts; from++)
		for (unsigned int to = 0; to < result->hosts; to++) {
			size_t cell = (size_t)from * result->hosts + to;

			if (!is_measured(result, cell))
				continue;
			search->open[cell] = 1;
			search->level[cell] = level_of_cell(result, result->values[cell]);
			result->measured++;
			result->failed += result->values[cell] <= MESH_FAILED;
			low += search->level[cell] != LEVEL_GOOD;
			if (search->level[cell] != LEVEL_LOW)
				search->alive[from] = search->alive[to] = 1;
		}
	return low;
}

static int search_culprits(struct search *search, double *table)
{
	struct localisation *result = search->result;

	find_typical(result, table, search->scratch);
	if (mark_low(search) == 0)
		return 0;
	if (accuse_groups(search) || accuse_lines(search) || accuse_pairs(search))
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)result->hosts * result->hosts; i++)
		result->low_count += result->low[i];
	return 0;
}

int localisation_run(struct localisation *localisation)
{
	const size_t hosts = localisation->hosts, cells = hosts * hosts;
	struct search search = {
		.result = localisation,
		.open = calloc(cells, 1),
		.level = calloc(cells, 1),
		.alive = calloc(hosts, 1),
		.scratch = calloc(cells, sizeof(double)),
	};
	double *table = calloc(cells, sizeof(double));
	int error = -ENOMEM;

	localisation->typical = localisation->noise = localisation->limit =
		localisation->line_limit = 0;
	localisation->measured = localisation->failed = localisation->low_count = 0;
	localisation->accusations = NULL;
	localisation->accusation_count = 0;
	localisation->egress = calloc(hosts, sizeof(double));
	localisation->ingress = calloc(hosts, sizeof(double));
	localisation->low = calloc(cells, 1);
	if (search.open && search.level && search.alive && search.scratch && table &&
		localisation->egress && localisation->ingress && localisation->low)
		error = search_culprits(&search, table);
	free(table);
	free(search.open);
	free(search.level);
	free(search.alive);
	free(search.scratch);
	if (error)
		localisation_free(localisation);
	return error;
}

void localisation_free(struct localisation *localisation)
{
	free(localisation->egress);
	free(localisation->ingress);
	free(localisation->low);
	free(localisation->accusations);
	localisation->egress = localisation->ingress = NULL;
	localisation->low = NULL;
	localisation->accusations = NULL;
	localisation->accusation_count = 0;
}
