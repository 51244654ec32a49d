/*
 * The last check: whether the server can also be reached in the other way, without rdmacm or by it.
 * It has a connection of its own, which it closes, and runs even if the first way failed: half of
 * the programs in the field use one of the two, and half the other.
 */
#include <errno.h>

#include "base/explain.h"
#include "diagnose/diagnosis.h"
#include "verbs/bootstrap.h"
#include "verbs/dial.h"

/* Time limits in milliseconds. */
#define CONNECT_MS 2500
#define OFFERED_MS 9500 /* of a way that the server offers: a request may be lost twice */
#define MESSAGE_MS 2000

/* RDMA READs in flight that we request and offer. */
#define READS 4

/*
 * True if nothing accepts connections in this way, which is no fault, or may have been lost.
 * offered: the server says that it accepts them.
 */
static bool is_no_answer(const struct failure *failure, bool offered)
{
	if (failure->kind == FAILURE_PATH)
		return failure->code == PATH_NO_TCP || failure->code == PATH_SILENT ||
		       failure->code == PATH_STRANGER || failure->code == PATH_NO_ANSWER ||
		       failure->code == PATH_IWARP || failure->code == PATH_TCP_ONLY ||
		       failure->code == PATH_NO_SOURCE;
	/* The first way says so, too. */
	if (failure->kind == FAILURE_ADDRESS)
		return true;
	/* The address need not be that of an RDMA device: TCP may use another network. */
	if (failure->kind == FAILURE_ERRNO &&
		(failure->phase == PHASE_ADDRESS || failure->phase == PHASE_ROUTE))
		return true;
	if (failure->kind == FAILURE_DEADLINE ||
		(failure->kind == FAILURE_ERRNO && failure->code == ETIMEDOUT))
		return !offered;
	return (failure->kind == FAILURE_REJECTED && failure->code == REJECTED_NO_LISTENER) ||
	       (failure->kind == FAILURE_ERRNO && failure->phase == PHASE_CONNECT &&
		       failure->code == ECONNREFUSED) ||
	       failure->kind == FAILURE_REFUSED || failure->kind == FAILURE_NAME;
}

/* True if the server answered, and would answer the same in the other way. */
static bool was_refused(const struct diagnosis *diagnosis)
{
	const struct failure *failure = &diagnosis->list.checks[CHECK_CONNECTION].failure;

	return (failure->kind == FAILURE_REFUSED && failure->code != REFUSAL_PATH) ||
	       (failure->kind == FAILURE_PROTOCOL && failure->code == PROTOCOL_UNAUTHENTICATED);
}

/* Connects and exchanges a message each way. Returns 0, or -1 with the failure recorded. */
static int try_to_talk(
	const struct diagnosis *diagnosis, struct dial *dial, struct control *control)
{
	const struct options *options = diagnosis->options;
	struct event_copy reply;

	dial->deadline = deadline_in(diagnosis->rdmacm_offered ? OFFERED_MS : CONNECT_MS);
	if (server_addresses_find(
		    &dial->server, options->host, options->port, dial->deadline, &dial->failure) ||
		dial_server(dial, &reply))
		return -1;
	if (control_client_admission(control, &reply, deadline_in(MESSAGE_MS)) == 0 &&
		control_client_region(control, deadline_in(MESSAGE_MS)) == 0)
		return 0;
	dial->failure = failure_is_set(&control->failure) ? control->failure : control->end;
	return -1;
}

int check_other_way(struct diagnosis *diagnosis)
{
	const struct options *options = diagnosis->options;
	const bool by_tcp = options->bootstrap != BOOTSTRAP_TCP;
	const char *way = diagnosis->list.other_way;
	const struct control_request request = {
		.kind = HELLO_DIAGNOSIS,
		.timeout = COMMAND_MS,
		.queue_pairs = 1,
		.depth = 1,
		.worker = true,
		.reads = READS,
		.secret = diagnosis->secret,
		.stop_fd = -1,
	};
	struct control control = {.request = &request};
	struct dial dial = {
		.server = {.source = options->source, .device = options->device},
		.peer = options->host,
		.output = &diagnosis->output,
		.stop_fd = -1,
		.dscp = options->dscp,
		.path = by_tcp ? &options->path : NULL,
		.prepare = control_client_prepare,
		.discard = control_client_discard,
		.user = &control,
	};
	deadline_t start = deadline_now();

	if (was_refused(diagnosis)) {
		check_list_skip(&diagnosis->list, CHECK_OTHER_WAY, "the server refused");
		diagnosis->list.checks[CHECK_OTHER_WAY].reached = false;
		return 0;
	}
	if (try_to_talk(diagnosis, &dial, &control) == 0) {
		if (by_tcp)
			bootstrap_of(control.id)
				->gids(control.id, &diagnosis->our_gids, &diagnosis->their_gids);
		else
			diagnosis->rdmacm_gids = control.id->route.addr.addr.ibaddr;
		check_list_ok(&diagnosis->list, CHECK_OTHER_WAY,
			"by %s, too: connected and message exchanged in %d ms", way,
			(int)(deadline_now() - start));
		check_list_shorten(&diagnosis->list, CHECK_OTHER_WAY, "by %s, too", way);
	} else if (!by_tcp && dial.failure.kind == FAILURE_HOST) {
		/* TCP was asked for, which does not need what rdmacm lacks. */
		check_list_skip(&diagnosis->list, CHECK_OTHER_WAY, "not by rdmacm: %s",
			explain(FAILURE_HOST, dial.failure.phase, dial.failure.code)->cause);
	} else if (is_no_answer(&dial.failure, diagnosis->rdmacm_offered)) {
		/* Most servers accept one way only: shown with --verbose. */
		check_list_skip(&diagnosis->list, CHECK_OTHER_WAY, "no answer by %s", way);
		diagnosis->list.checks[CHECK_OTHER_WAY].reached = false;
	} else {
		check_list_fail(&diagnosis->list, CHECK_OTHER_WAY, &dial.failure);
	}
	control_close(&control);
	server_addresses_free(&dial.server);
	return 0;
}
