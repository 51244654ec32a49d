/* The rungs of a diagnosis from the connection up to what both ends say of themselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-climb.h"

/* How long what is asked for may take, in milliseconds. */
#define RESOLVE_MS 3000
#define CONNECT_MS 8000 /* the kernel sends a lost request again after 4.6 s */
#define LEAST_MS   2000 /* for what is begun late: a slow host is not a broken one */

/* A port where nobody can listen with RDMA: what answers there is the connection manager. */
#define NO_PORT 1

/* READs under way at a time that we ask for and offer. */
#define READS 4

deadline_t climb_until(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least)
{
	deadline_t usual = deadline_in(milliseconds), soon = deadline_in(least + LEAST_MS);
	deadline_t end = diagnosis->end > soon ? diagnosis->end : soon;

	return usual < end ? usual : end;
}

int climb_probe_broke(struct diagnosis *diagnosis, enum rung rung)
{
	return ladder_fail(&diagnosis->ladder, rung, &diagnosis->ask.probe.failure);
}

static const struct ask_wish wish = {
	.kind = SESSION_DIAGNOSIS,
	.timeout = CLIMB_ORDER_MS,
	.queue_pairs = 1,
	.depth = PROBE_DEPTH,
	.reads = READS,
};

/* Nobody can listen there: a refusal shows that RDMA answers. */
static int answered_without_port(struct diagnosis *diagnosis, int milliseconds)
{
	const struct failure *failure = &diagnosis->ask.probe.failure;

	/* iWARP has no reasons, but the errno of TCP. */
	if (failure->kind != FAILURE_REJECTED && failure->kind != FAILURE_REFUSED &&
		!(failure->kind == FAILURE_ERRNO && failure->code == ECONNREFUSED))
		return climb_probe_broke(diagnosis, RUNG_CONNECTION);
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"RDMA answers there (in %d ms); give the PORT of an rdma-server to go on",
		milliseconds);
	return -1;
}

int climb_connection(struct diagnosis *diagnosis)
{
	struct ask *ask = &diagnosis->ask;
	struct event_copy answer;
	struct sockaddr_storage address = diagnosis->route.address;
	uint16_t port = diagnosis->options->port;
	deadline_t start = deadline_now(), resolved;

	address_set_port(&address, port ? port : NO_PORT);
	if (ask_open(ask, (struct sockaddr *)&address, diagnosis->secret) ||
		ask_resolve(ask, reach_source(&diagnosis->route), (struct sockaddr *)&address,
			climb_until(diagnosis, RESOLVE_MS, 0)))
		return climb_probe_broke(diagnosis, RUNG_CONNECTION);
	resolved = deadline_now();
	if (ask_connect(ask, &wish, climb_until(diagnosis, CONNECT_MS, 0), &answer))
		return port ? climb_probe_broke(diagnosis, RUNG_CONNECTION)
			    : answered_without_port(diagnosis, (int)(deadline_now() - resolved));
	if (ask_admission(ask, &wish, &answer, climb_until(diagnosis, CLIMB_ORDER_MS, 0)))
		return climb_probe_broke(diagnosis, RUNG_CONNECTION);
	ladder_ok(&diagnosis->ladder, RUNG_CONNECTION,
		"address and route in %d ms, connected in %d ms%s", (int)(resolved - start),
		(int)(deadline_now() - resolved),
		diagnosis->secret ? ", both hold the secret" : "");
	return 0;
}

int climb_order(struct diagnosis *diagnosis, struct order *order, struct order *answer)
{
	return ask_order(&diagnosis->ask, order, answer,
		climb_until(diagnosis, CLIMB_ORDER_MS + order->milliseconds, order->milliseconds));
}

int climb_message(struct diagnosis *diagnosis)
{
	deadline_t start = deadline_now();

	if (ask_region(&diagnosis->ask, climb_until(diagnosis, CLIMB_ORDER_MS, 0)))
		return climb_probe_broke(diagnosis, RUNG_MESSAGE);
	ladder_ok(&diagnosis->ladder, RUNG_MESSAGE, "there and back in %d ms",
		(int)(deadline_now() - start));
	return 0;
}

bool climb_differs(const struct diagnosis *diagnosis, const char *name)
{
	const char *ours = facts_value(&diagnosis->ours, name);
	const char *theirs = facts_value(&diagnosis->theirs, name);

	return ours && theirs && strcmp(ours, theirs) != 0;
}

/* Writes "1400 here, 4200 there" if this fact differs, else "". */
static void say_difference(const struct diagnosis *diagnosis, const char *fact, char text[256])
{
	*text = '\0';
	if (climb_differs(diagnosis, fact))
		snprintf(text, 256, "%s here, %s there", facts_value(&diagnosis->ours, fact),
			facts_value(&diagnosis->theirs, fact));
}

/*
 * On Ethernet a device takes its MTU from the interface, which is then the cause of both differences.
 * Returns false if there is none.
 */
static bool mtus_differ(struct diagnosis *diagnosis)
{
	char interfaces[256], devices[256];

	say_difference(diagnosis, "interface mtu", interfaces);
	say_difference(diagnosis, "rdma mtu", devices);
	if (*interfaces)
		climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU,
			"%s%s%s", interfaces, *devices ? "; of RDMA " : "", devices);
	else if (*devices)
		climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT,
			IMPAIRED_RDMA_MTU, "%s", devices);
	return *interfaces || *devices;
}

static void judge_ends(struct diagnosis *diagnosis)
{
	const char *clients = facts_value(&diagnosis->theirs, "clients");

	if (mtus_differ(diagnosis))
		return;
	if (clients && strstr(clients, ", full"))
		climb_broken(diagnosis, RUNG_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL,
			"it has %s", clients);
	else
		ladder_ok(&diagnosis->ladder, RUNG_ENDS, "%s",
			climb_differs(diagnosis, "version")
				? "they fit, though their versions differ"
				: "they fit each other");
}

int climb_ends(struct diagnosis *diagnosis)
{
	struct ask *ask = &diagnosis->ask;

	if (ask_facts(ask, &diagnosis->theirs, climb_until(diagnosis, CLIMB_ORDER_MS, 0)))
		return climb_probe_broke(diagnosis, RUNG_ENDS);
	probe_facts(&ask->probe, &diagnosis->ours);
	ask_count_here(ask, &diagnosis->our_counters);
	if (ask_count_there(
		    ask, &diagnosis->their_counters, climb_until(diagnosis, CLIMB_ORDER_MS, 0)))
		return climb_probe_broke(diagnosis, RUNG_ENDS);
	judge_ends(diagnosis);
	return 0;
}
