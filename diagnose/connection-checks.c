/*
 * The checks from the connection to the comparison of the two ends. The control connection that
 * check_connection() sets up belongs to the diagnosis and is used by all later checks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/explain.h"
#include "diagnose/attempts.h"
#include "diagnose/diagnosis.h"
#include "diagnose/mtu-verdicts.h"
#include "diagnose/round-trips.h"
#include "host/netlink.h"
#include "measure/shared-state.h"
#include "verbs/bootstrap.h"
#include "verbs/dial.h"

/* Time limits of the steps, in milliseconds. */
#define RESOLVE_MS 3000
#define TCP_MS     3000

/*
 * Time limits of the attempts to connect. The kernel retransmits a lost request only after 4.6 s,
 * so a path that loses packets needs several attempts: if it loses 5 % in each direction, four go
 * unanswered in 1 of 11,000 cases.
 */
static const int64_t connect_ms[] = {2500, 1500, 1500, 4000};

#define CONNECT_ATTEMPTS (sizeof(connect_ms) / sizeof(connect_ms[0]))

/*
 * The most messages, and the time for them in milliseconds; and for the first ROUND_TRIPS_LEAST,
 * without which a long delay remains unknown.
 */
#define MESSAGES    40
#define MESSAGES_MS 2500
#define LEAST_MS    4000

/* RDMA READs in flight that we request and offer. */
#define READS 4

/*
 * The user named no port, so there may be no server. That nothing listens proves that the peer
 * responds to RDMA; but on iWARP, every host refuses TCP connections to such a port. Any other
 * refusal comes from a server, and means the same as with a port.
 */
static int answered_without_server(
	struct diagnosis *diagnosis, const struct failure *failure, int milliseconds)
{
	const char *where = explain_side(diagnosis->list.same_host ? SIDE_HERE : SIDE_THERE);

	if (failure->kind == FAILURE_ERRNO && failure->code == ECONNREFUSED)
		check_list_skip(&diagnosis->list, CHECK_CONNECTION,
			"nothing is listening on port %u, and over iWARP, only a server can show "
			"that RDMA works; start rdma-server on %s, or give its PORT",
			diagnosis->options->port, where);
	else if (failure->kind == FAILURE_REJECTED && failure->code == REJECTED_NO_LISTENER)
		check_list_ok(&diagnosis->list, CHECK_CONNECTION,
			"RDMA responds (in %d ms); to continue, start rdma-server on %s, or give "
			"its PORT",
			milliseconds, where);
	else
		return check_list_fail(&diagnosis->list, CHECK_CONNECTION, failure);
	diagnosis->no_server = true;
	return -1;
}

/* Makes one attempt to connect. Returns 0, or -1 with dial->failure set. */
static int try_to_connect(struct diagnosis *diagnosis, struct dial *dial,
	const struct sockaddr *address, int64_t milliseconds, deadline_t *resolved,
	struct event_copy *reply)
{
	dial->failure = (struct failure){0};
	dial->deadline = check_deadline(diagnosis, RESOLVE_MS, 0);
	if (dial_resolve(
		    dial, address, reach_source(&diagnosis->route), deadline_left(dial->deadline)))
		return -1;
	*resolved = deadline_now();
	dial->deadline = check_deadline(diagnosis, milliseconds, 0);
	return dial_connect(dial, reply);
}

/* Makes attempts until one succeeds or no other may. Returns 0, or -1 with dial->failure set. */
static int connect_patiently(struct diagnosis *diagnosis, struct dial *dial,
	const struct sockaddr *address, deadline_t *resolved, struct event_copy *reply)
{
	struct failure kept = {0};

	for (size_t i = 0; i < CONNECT_ATTEMPTS; i++) {
		/* If little time is left, the second and last attempt is the longest. */
		if (i > 0 && deadline_left(diagnosis->end) < connect_ms[i])
			i = CONNECT_ATTEMPTS - 1;
		if (try_to_connect(diagnosis, dial, address, connect_ms[i], resolved, reply) == 0)
			return 0;
		if (!attempts_continue(&kept, &dial->failure))
			break;
	}
	dial->failure = kept;
	return -1;
}

/*
 * True if the server accepts connections by rdmacm, too, and the address is that of an RDMA port:
 * TCP may use another network.
 */
static bool offers_rdmacm(const struct tcp_path *theirs, const struct sockaddr *server)
{
	struct sockaddr_storage address;

	for (unsigned int i = 0; theirs->rdmacm && i < theirs->count; i++) {
		tcp_gid_address(theirs->gids[i].gid, &address);
		if (address_equal(server, (const struct sockaddr *)&address))
			return true;
	}
	return false;
}

/* Connects to any of the server's addresses without rdmacm. */
static int connect_by_tcp(struct diagnosis *diagnosis, struct dial *dial, struct event_copy *reply)
{
	const struct options *options = diagnosis->options;
	const struct rdma_cm_id *id;
	int error;

	dial->path = &options->path;
	dial->server.source = options->source;
	dial->deadline = check_deadline(diagnosis, TCP_MS, 0);
	error = server_addresses_find(
		&dial->server, options->host, options->port, dial->deadline, &dial->failure);
	if (!error) {
		diagnosis->list.same_host = netlink_is_local(dial->server.address->ai_addr);
		error = dial_server(dial, reply);
	}
	server_addresses_free(&dial->server);
	if (error)
		return -1;
	id = diagnosis->control.id;
	bootstrap_of(id)->gids(id, &diagnosis->our_gids, &diagnosis->their_gids);
	diagnosis->rdmacm_offered = offers_rdmacm(&diagnosis->their_gids, &id->route.addr.dst_addr);
	diagnosis->device =
		inventory_device(&diagnosis->inventory, ibv_get_device_name(id->verbs->device));
	diagnosis->port = inventory_port(
		&diagnosis->inventory, ibv_get_device_name(id->verbs->device), id->port_num);
	return 0;
}

/* Records why there is no connection. Returns -1. */
static int not_connected(struct diagnosis *diagnosis, struct failure *failure, int milliseconds)
{
	if (diagnosis->options->bootstrap != BOOTSTRAP_TCP)
		address_conflicts_blame(&diagnosis->conflicts, &diagnosis->route, failure);
	return diagnosis->options->port_given
		       ? check_list_fail(&diagnosis->list, CHECK_CONNECTION, failure)
		       : answered_without_server(diagnosis, failure, milliseconds);
}

int check_connection(struct diagnosis *diagnosis)
{
	struct sockaddr_storage address = diagnosis->route.address;
	const struct sockaddr *server = (struct sockaddr *)&address;
	const bool by_tcp = diagnosis->options->bootstrap == BOOTSTRAP_TCP;
	char peer[ADDRESS_TEXT_SIZE] = "";
	struct dial dial = {
		.peer = peer,
		.output = &diagnosis->output,
		.stop_fd = -1,
		.dscp = diagnosis->options->dscp,
		.watches = true,
		.prepare = control_client_prepare,
		.discard = control_client_discard,
		.user = &diagnosis->control,
	};
	deadline_t start = deadline_now(), resolved = start;
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
	if (!by_tcp) {
		address_set_port(&address, diagnosis->options->port);
		address_port_text(server, peer);
	}
	if (by_tcp ? connect_by_tcp(diagnosis, &dial, &reply)
		   : connect_patiently(diagnosis, &dial, server, &resolved, &reply))
		return not_connected(diagnosis, &dial.failure, (int)(deadline_now() - resolved));
	control_counters(&diagnosis->control, &diagnosis->our_counters);
	if (control_client_admission(
		    &diagnosis->control, &reply, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_CONNECTION);
	if (by_tcp)
		check_list_ok(&diagnosis->list, CHECK_CONNECTION, "connected by TCP in %d ms%s",
			(int)(deadline_now() - start),
			diagnosis->secret ? ", mutually authenticated" : "");
	else
		check_list_ok(&diagnosis->list, CHECK_CONNECTION,
			"address and route resolved in %d ms, connected in %d ms%s",
			(int)(resolved - start), (int)(deadline_now() - resolved),
			diagnosis->secret ? ", mutually authenticated" : "");
	check_list_shorten(&diagnosis->list, CHECK_CONNECTION, "connected in %d ms%s",
		(int)(deadline_now() - resolved),
		diagnosis->secret ? ", mutually authenticated" : "");
	return 0;
}

/*
 * The shortest of several round trips is compared with the limit, because a lost packet or a busy
 * host delays single messages.
 */
int check_message(struct diagnosis *diagnosis)
{
	uint64_t start, took[MESSAGES];
	deadline_t end = deadline_in(MESSAGES_MS), least = deadline_in(LEAST_MS);
	unsigned int count = 0;

	do {
		start = test_now();
		if (control_client_region(
			    &diagnosis->control, check_deadline(diagnosis, COMMAND_MS, 0)))
			return check_control_failed(diagnosis, CHECK_MESSAGE);
		took[count++] = test_now() - start;
		diagnosis->round_trip = round_trips_shortest(took, count);
	} while (count < MESSAGES && diagnosis->round_trip >= ROUND_TRIPS_SLOW &&
		 deadline_left(count < ROUND_TRIPS_LEAST ? least : end) > 0);
	round_trips_judge(&diagnosis->list, took, count);
	return 0;
}

static void compare_ends(struct diagnosis *diagnosis)
{
	const char *clients = facts_value(&diagnosis->theirs, "clients");

	if (mtu_verdicts_ends(diagnosis))
		return;
	if (clients && strstr(clients, ", full"))
		check_failed(diagnosis, CHECK_ENDS, FAILURE_IMPAIRED, PHASE_CONNECT, IMPAIRED_FULL,
			"clients: %s", clients);
	else
		check_list_ok(&diagnosis->list, CHECK_ENDS, "%s",
			check_differs(diagnosis, "version")
				? "compatible, although the versions differ"
				: "compatible");
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
