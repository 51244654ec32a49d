/* The checks from the connection up to what both ends say of themselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnosis.h"
#include "verbs/dial.h"

/* The time of each step, in milliseconds. */
#define RESOLVE_MS 3000
#define CONNECT_MS 8000 /* the kernel sends a lost request again after 4.6 s */

/* A port on which no program can listen with RDMA: the connection manager answers. */
#define NO_PORT 1

/* READs under way at a time that we ask for and offer. */
#define READS 4

/* Nothing can listen on NO_PORT: a refusal shows that RDMA answers. */
static int answered_without_port(
	struct diagnosis *diagnosis, const struct failure *failure, int milliseconds)
{
	/* iWARP has no reasons, but the errno of TCP. */
	if (failure->kind != FAILURE_REJECTED && failure->kind != FAILURE_REFUSED &&
		!(failure->kind == FAILURE_ERRNO && failure->code == ECONNREFUSED))
		return check_list_fail(&diagnosis->list, CHECK_CONNECTION, failure);
	check_list_ok(&diagnosis->list, CHECK_CONNECTION,
		"RDMA answers there (in %d ms); give the PORT of an rdma-server to go on",
		milliseconds);
	return -1;
}

int check_connection(struct diagnosis *diagnosis)
{
	struct sockaddr_storage address = diagnosis->route.address;
	uint16_t port = diagnosis->options->port;
	char peer[ADDRESS_TEXT_SIZE];
	struct dial dial = {
		.peer = peer,
		.output = &diagnosis->output,
		.deadline = check_deadline(diagnosis, RESOLVE_MS, 0),
		.stop_fd = -1,
		.prepare = control_client_prepare,
		.discard = control_client_discard,
		.user = &diagnosis->control,
	};
	deadline_t start = deadline_now(), resolved;
	struct event_copy reply;

	diagnosis->request = (struct control_request){
		.kind = HELLO_DIAGNOSIS,
		.timeout = COMMAND_MS,
		.queue_pairs = 1,
		.depth = TEST_DIAGNOSIS_DEPTH,
		.reads = READS,
		.secret = diagnosis->secret,
		.stop_fd = -1,
	};
	diagnosis->control.request = &diagnosis->request;
	address_set_port(&address, port ? port : NO_PORT);
	address_port_text((struct sockaddr *)&address, peer);
	if (dial_resolve(&dial, (struct sockaddr *)&address, reach_source(&diagnosis->route),
		    deadline_left(dial.deadline)))
		return check_list_fail(&diagnosis->list, CHECK_CONNECTION, &dial.failure);
	resolved = deadline_now();
	dial.deadline = check_deadline(diagnosis, CONNECT_MS, 0);
	if (dial_connect(&dial, &reply))
		return port ? check_list_fail(&diagnosis->list, CHECK_CONNECTION, &dial.failure)
			    : answered_without_port(
				      diagnosis, &dial.failure, (int)(deadline_now() - resolved));
	if (control_client_admission(
		    &diagnosis->control, &reply, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_CONNECTION);
	check_list_ok(&diagnosis->list, CHECK_CONNECTION,
		"address and route in %d ms, connected in %d ms%s", (int)(resolved - start),
		(int)(deadline_now() - resolved),
		diagnosis->secret ? ", both hold the secret" : "");
	return 0;
}

int check_message(struct diagnosis *diagnosis)
{
	deadline_t start = deadline_now();

	if (control_client_region(&diagnosis->control, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_MESSAGE);
	check_list_ok(&diagnosis->list, CHECK_MESSAGE, "there and back in %d ms",
		(int)(deadline_now() - start));
	return 0;
}

/* Writes "1400 here, 4200 there" if this fact differs, else "". */
static void describe_difference(const struct diagnosis *diagnosis, const char *fact, char text[256])
{
	*text = '\0';
	if (check_differs(diagnosis, fact))
		snprintf(text, 256, "%s here, %s there", facts_value(&diagnosis->ours, fact),
			facts_value(&diagnosis->theirs, fact));
}

/*
 * On Ethernet a device takes its MTU from the interface, which is then the cause of both
 * differences. Returns false if there is none.
 */
static bool mtus_differ(struct diagnosis *diagnosis)
{
	char interfaces[256], devices[256];

	describe_difference(diagnosis, "interface mtu", interfaces);
	describe_difference(diagnosis, "rdma mtu", devices);
	if (*interfaces)
		check_failed(diagnosis, CHECK_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_MTU,
			"%s%s%s", interfaces, *devices ? "; of RDMA " : "", devices);
	else if (*devices)
		check_failed(diagnosis, CHECK_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT,
			IMPAIRED_RDMA_MTU, "%s", devices);
	return *interfaces || *devices;
}

static void compare_ends(struct diagnosis *diagnosis)
{
	const char *clients = facts_value(&diagnosis->theirs, "clients");

	if (mtus_differ(diagnosis))
		return;
	if (clients && strstr(clients, ", full"))
		check_failed(diagnosis, CHECK_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL,
			"it has %s", clients);
	else
		check_list_ok(&diagnosis->list, CHECK_ENDS, "%s",
			check_differs(diagnosis, "version")
				? "they fit, though their versions differ"
				: "they fit each other");
}

int check_ends(struct diagnosis *diagnosis)
{
	struct control *control = &diagnosis->control;

	if (control_client_facts(
		    control, &diagnosis->theirs, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_ENDS);
	control_facts(control, &diagnosis->ours);
	control_counters(control, &diagnosis->our_counters);
	if (control_client_counters(
		    control, &diagnosis->their_counters, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_ENDS);
	compare_ends(diagnosis);
	return 0;
}
