/*
 * Whether both ends support an operation and its options: see measure/support.h. The facts of an
 * end name its operations and, as pairs of a word and a number, the limits of its options; older
 * releases name none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/support.h"

/* The operations of an end. The first releases name none. */
static const char *operations_of(const struct facts *facts)
{
	const char *names = facts_value(facts, "operations");

	return names ? names : "write read";
}

static bool has_operation(const struct facts *facts, enum test_operation_number number)
{
	return strstr(operations_of(facts), test_operations[number].name);
}

/* Fails unless both ends support the operation. */
static int check_operation(struct measurement *measurement)
{
	const struct test_operation *operation = measurement->options->operation;
	bool here = has_operation(&measurement->ours, operation->number);
	const struct facts *lacking = here ? &measurement->theirs : &measurement->ours;
	const char *host = here ? measurement->options->host : "this host";
	/* Every device has SENDs, and the releases before them had atomic operations or none. */
	bool old = !has_operation(lacking, TEST_SEND) &&
		   (operation->receives || !facts_value(lacking, "operations"));

	if (here && has_operation(&measurement->theirs, operation->number))
		return 0;
	if (old)
		return failure_set(&measurement->threads.failure, FAILURE_HOST, PHASE_MEASUREMENT,
			HOST_NO_OPERATION, "ibv_query_device",
			"rdma-server %s of %s supports only %s", facts_shown(lacking, "version"),
			host, operations_of(lacking));
	return failure_set(&measurement->threads.failure, FAILURE_HOST, PHASE_MEASUREMENT,
		HOST_NO_OPERATION, "ibv_query_device", "%s of %s has no %s",
		facts_shown(lacking, "device"), host,
		operation->atomic ? "atomic operations: its atomic_cap is IBV_ATOMIC_NONE"
				  : "immediate data: its transport_type is IBV_TRANSPORT_IWARP");
}

/* The limit with this name of an end, or -1 if its program knows no such option. */
static long limit_of(const struct facts *facts, const char *name)
{
	const char *limits = facts_value(facts, "test limits");
	size_t length = strlen(name);

	for (; limits && *limits; limits += strcspn(limits, " ")) {
		limits += strspn(limits, " ");
		if (strncmp(limits, name, length) == 0 && limits[length] == ' ')
			return strtol(limits + length, NULL, 10);
	}
	return -1;
}

/* A limit of an option, and what it is called in the verbs. */
struct option_limit {
	const char *option, *name, *verbs;
	const char *why; /* NULL: the limit is told */
	unsigned long wanted;
	bool is_flag; /* the option has no value */
	bool there;   /* the server needs it, too */
};

static int check_end(struct measurement *measurement, const struct option_limit *limit, bool here)
{
	const struct facts *facts = here ? &measurement->ours : &measurement->theirs;
	const char *host = here ? "this host" : measurement->options->host;
	long most = limit_of(facts, limit->name);
	char value[24] = "";

	if (most >= 0 && (unsigned long)most >= limit->wanted)
		return 0;
	if (most < 0)
		return failure_set(&measurement->threads.failure, FAILURE_HOST, PHASE_MEASUREMENT,
			HOST_NO_OPTION, "facts", "rdma-server %s of %s does not know --%s",
			facts_shown(facts, "version"), host, limit->option);
	if (!limit->is_flag)
		snprintf(value, sizeof(value), " %lu", limit->wanted);
	if (limit->why)
		return failure_set(&measurement->threads.failure, FAILURE_HOST, PHASE_MEASUREMENT,
			HOST_NO_OPTION, "facts", "--%s%s: %s of %s %s", limit->option, value,
			facts_shown(facts, "device"), host, limit->why);
	return failure_set(&measurement->threads.failure, FAILURE_HOST, PHASE_MEASUREMENT,
		HOST_NO_OPTION, limit->verbs, "--%s%s: the %s of %s of %s is %ld", limit->option,
		value, limit->verbs, facts_shown(facts, "device"), host, most);
}

/* Checks the limits that the command line needs; one of 0 is not needed. */
static int check_limits(
	struct measurement *measurement, const struct option_limit *limits, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (limits[i].wanted &&
			(check_end(measurement, &limits[i], true) ||
				(limits[i].there && check_end(measurement, &limits[i], false))))
			return -1;
	return 0;
}

bool support_shares_counters(const struct measurement *measurement)
{
	return limit_of(&measurement->theirs, "shared-counter") > 0;
}

int support_check(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	bool fetches = measurement->options->operation->fetches;
	/* In a latency test, the server answers. */
	bool posts = measure->bidirectional || (measure->latency && !fetches);
	const struct option_limit limits[] = {
		{.option = "inline",
			.name = "inline",
			.verbs = "max_inline_data",
			.wanted = measure->inline_below ? measure->inline_below - 1 : 0,
			.there = posts},
		{.option = "sge",
			.name = fetches ? "sge-rd" : "sge",
			.verbs = fetches ? "max_sge_rd" : "max_sge",
			.wanted = measure->gathers,
			.there = posts},
		{.option = "signal-every",
			.name = "signal-every",
			.why = "completes operations out of order, so each is signaled",
			.wanted = measure->signal_every,
			.there = posts},
		/* Releases that tell their MTU know the option; that of iWARP is 0. */
		{.option = "transport",
			.name = "mtu",
			.why = "has only reliable connections: its transport_type is "
			       "IBV_TRANSPORT_IWARP",
			.wanted = measure->transport != TEST_RC,
			.is_flag = true,
			.there = true},
		/* A datagram is one packet. */
		{.option = "transport ud --size",
			.name = "mtu",
			.verbs = "active_mtu",
			.wanted = measure->transport == TEST_UD ? measure->largest : 0,
			.there = true},
		{.option = "srq",
			.name = "srq",
			.verbs = "max_srq",
			.wanted = measure->shares,
			.is_flag = true,
			.there = true},
	};

	return check_operation(measurement) ||
			       check_limits(measurement, limits, sizeof(limits) / sizeof(*limits))
		       ? -1
		       : 0;
}
