/* Both halves of the operations that a diagnosis tries: see control/operations.h. */
#include <errno.h>
#include <string.h>

#include "control/client.h"
#include "control/operation-table.h"
#include "control/operations.h"

/*
 * Time limits in milliseconds: of the requests of a round, one of whose packets may be lost and
 * sent again several times; and of receives, once the requests have completed.
 */
#define ROUND_MS   2500
#define RECEIVE_MS 1000

/* Until the connections of the operations are made, over iWARP. */
#define LINK_MS 2000

/* Calls that fail like this do not know the type of queue pair. */
static bool is_unknown(int error)
{
	return error == -EOPNOTSUPP || error == -ENOSYS || error == -EINVAL;
}

/*
 * Records that a call failed with this -errno. A call that is not implemented is not a failure,
 * even if the device's capabilities promise it.
 */
static void call_failed(struct operation_end *end, enum operation operation, int error)
{
	if (error == -EOPNOTSUPP || error == -ENOSYS)
		operation_lacks(end, operation, LACK_CALL);
	else
		operation_fails(end, operation, FAULT_CALL, -error);
}

/* Creates the queue pair of an operation, unless this end lacks what it needs. */
static void open_operation(struct operation_end *end, enum operation operation)
{
	const struct operation_row *row = &operation_rows[operation];
	enum operation_lack lack = row->lack(end);
	int error;

	/* Over iWARP, it is created with its connection. */
	if (lack == LACK_NOTHING && !operation_end_links(end)) {
		error = operation_end_add_queue(end, row->queue);
		if (error && row->without_queue != LACK_NOTHING && is_unknown(error)) {
			lack = row->without_queue;
		} else if (error) {
			call_failed(end, operation, error);
			return;
		} else {
			lack = row->lack(end);
		}
	}
	if (lack != LACK_NOTHING)
		operation_lacks(end, operation, lack);
}

/* Opens the end for these operations, as bits. What is impossible has a result afterwards. */
static void open_end(
	struct operation_end *end, struct control *control, bool passive, uint32_t wanted)
{
	int error = operation_end_open(end, control, passive);

	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (!(wanted & UINT32_C(1) << operation))
			continue;
		if (error)
			call_failed(end, operation, error);
		else
			open_operation(end, operation);
	}
}

/* Operations of these that have no result, as bits. */
static uint32_t open_of(const struct operation_result results[OPERATIONS], uint32_t wanted)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (results[operation].state != OPERATION_SKIPPED)
			wanted &= ~(UINT32_C(1) << operation);
	return wanted;
}

/* The offer of this end: its queue pairs and, of the server, its memory. */
static void describe(const struct operation_end *end, struct operations_offer *offer)
{
	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		if (!end->queues[i].qp && !end->links.port)
			continue;
		offer->queues[i].number =
			end->links.port ? end->links.port : end->queues[i].qp->qp_num;
		offer->queues[i].sequence =
			end->links.port ? end->links.numbers[i] : end->queues[i].sequence;
	}
	if (!end->passive || !end->memory.mr)
		return;
	offer->address = (uintptr_t)end->memory.start;
	offer->length = (uint32_t)end->memory.size;
	offer->rkey = end->memory.mr->rkey;
	offer->window = end->window_key;
	offer->window_type = end->window_type;
}

/*
 * Connects the queue pair of an operation to the peer's, unless it is connected. Returns 0 or
 * -errno.
 */
static int connect_queue(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	const enum operation_queue queue = operation_rows[operation].queue;

	if (end->queues[queue].broken)
		return -ENOTCONN;
	if (end->queues[queue].number_of_peer)
		return 0;
	if (operation_end_links(end))
		return end->links.states[queue] == LINK_ESTABLISHED ? 0 : -ENOTCONN;
	if (!theirs->queues[queue].number)
		return -ENOTCONN;
	return operation_end_connect(
		end, queue, theirs->queues[queue].number, theirs->queues[queue].sequence);
}

/* The server's half. */

static void prepare_operation(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	const struct operation_row *row = &operation_rows[operation];
	int error = connect_queue(end, operation, theirs);

	if (error)
		end->queues[row->queue].broken = true;
	if (!error && row->prepare)
		error = row->prepare(end, operation);
	if (error)
		call_failed(end, operation, error);
	else
		end->results[operation].state = OPERATION_OK;
}

static void reply_with_offer(const struct operation_end *end, uint8_t reply[OPERATIONS_OFFER_SIZE])
{
	struct operations_offer ours = {0};

	describe(end, &ours);
	memcpy(ours.prepared, end->results, sizeof(ours.prepared));
	operations_offer_encode(&ours, reply);
}

/* Starts to listen for the connections of the operations, which are prepared later. */
static void await_links(struct operation_end *end, uint32_t wanted)
{
	int error = operation_links_listen(&end->links);

	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (!(open_of(end->results, wanted) & UINT32_C(1) << operation))
			continue;
		if (error)
			operation_fails(end, operation, FAULT_CONNECT, -error);
		else
			end->results[operation].state = OPERATION_OK;
	}
}

int operations_begin(struct operation_end *end, struct control *control, const char *text,
	size_t size, uint8_t reply[OPERATIONS_OFFER_SIZE])
{
	struct operations_offer theirs;

	operation_end_close(end);
	if (operations_offer_decode(&theirs, text, size))
		return -EPROTO;
	open_end(end, control, true, theirs.wanted);
	if (operation_end_links(end))
		await_links(end, theirs.wanted);
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (open_of(end->results, theirs.wanted) & UINT32_C(1) << operation)
			prepare_operation(end, operation, &theirs);
	reply_with_offer(end, reply);
	return 0;
}

/* The queue pairs of these operations, as bits. */
static uint32_t queues_of(uint32_t operations)
{
	uint32_t queues = 0;

	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (operations & UINT32_C(1) << operation)
			queues |= UINT32_C(1) << operation_rows[operation].queue;
	return queues;
}

int operations_link(struct operation_end *end, const char *text, size_t size,
	uint8_t reply[OPERATIONS_OFFER_SIZE])
{
	static const struct operations_offer none;
	struct operation_result theirs[OPERATIONS];
	uint32_t wanted = 0, linked;

	if (!end->links.port || operations_results_decode(theirs, text, size))
		return -EPROTO;
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (end->results[operation].state == OPERATION_OK &&
			theirs[operation].state == OPERATION_SKIPPED)
			wanted |= UINT32_C(1) << operation;
		end->results[operation] = (struct operation_result){0};
	}
	linked = operation_links_accept(&end->links, queues_of(wanted), deadline_in(LINK_MS));
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		if (!(wanted & UINT32_C(1) << operation))
			continue;
		if (linked & UINT32_C(1) << operation_rows[operation].queue)
			prepare_operation(end, operation, &none);
		else
			operation_fails(end, operation, FAULT_CONNECT, 0);
	}
	reply_with_offer(end, reply);
	return 0;
}

/* True if everything has arrived that the client has sent. */
static bool all_received(const struct operation_end *end)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if ((end->awaited & UINT32_C(1) << operation) &&
			end->counts[operation].received < operation_rows[operation].receives)
			return false;
	return true;
}

static void judge_arrived(struct operation_end *end, enum operation operation)
{
	const struct operation_row *row = &operation_rows[operation];

	/* On iWARP, a SEND completes before it has arrived. */
	end->results[operation] = (struct operation_result){.state = OPERATION_OK};
	if (end->counts[operation].received < row->receives)
		operation_fails(
			end, operation, operation_end_links(end) ? FAULT_LATE : FAULT_MISSING, 0);
	else if (row->judge_there)
		row->judge_there(end, operation);
}

int operations_end(struct operation_end *end, const char *text, size_t size,
	uint8_t reply[OPERATIONS_RESULTS_SIZE])
{
	struct operation_result theirs[OPERATIONS];

	if (!end->control || operations_results_decode(theirs, text, size))
		return -EPROTO;
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (theirs[operation].state == OPERATION_OK &&
			end->results[operation].state == OPERATION_OK)
			end->awaited |= UINT32_C(1) << operation;
	/* If the session has ended meanwhile, so will the next wait of its thread. */
	if (end->cq)
		operation_end_collect(end, deadline_in(RECEIVE_MS), all_received);
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (end->awaited & UINT32_C(1) << operation)
			judge_arrived(end, operation);
		else
			end->results[operation] = (struct operation_result){0};
	operations_results_encode(end->results, reply);
	operation_end_close(end);
	return 0;
}

/* The client's half. */

/*
 * Posts an operation. If that fails, or has failed for another on the same queue pair, what follows
 * would use the receives of others: it waits for the next round.
 */
static void post_operation(struct operation_end *end, enum operation operation,
	const struct operations_offer *theirs,
	int (*post)(struct operation_end *end, enum operation operation,
		const struct operations_offer *theirs))
{
	const enum operation_queue queue = operation_rows[operation].queue;
	int error;

	if (end->queues[queue].broken)
		return;
	error = connect_queue(end, operation, theirs);
	if (!error)
		error = post(end, operation, theirs);
	if (!error)
		return;
	end->queues[queue].broken = true;
	call_failed(end, operation, error);
}

/* True if everything that was posted has completed. */
static bool all_completed(const struct operation_end *end)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (end->counts[operation].completed < end->counts[operation].posted)
			return false;
	return true;
}

/* The statuses with which the peer's device refuses access to its memory. */
static bool is_refused(const struct operation_end *end, enum operation operation)
{
	const uint8_t step = operation_rows[operation].refused_step;
	enum ibv_wc_status status = end->counts[operation].status;

	return step > 0 && end->counts[operation].failed_step == step &&
	       (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
		       status == IBV_WC_REM_OP_ERR);
}

/*
 * Judges an operation whose completions have been taken. What was flushed, or has not completed
 * because another before it has not, keeps no result.
 */
static void judge_operation(struct operation_end *end, enum operation operation)
{
	const struct operation_row *row = &operation_rows[operation];
	const enum ibv_wc_status status = end->counts[operation].status;
	bool *broken = &end->queues[row->queue].broken;

	if (end->counts[operation].posted == 0 || *broken)
		return;
	if (status != IBV_WC_SUCCESS && !is_refused(end, operation)) {
		*broken = true;
		operation_fails(end, operation, FAULT_COMPLETION, (int)status);
	} else if (end->counts[operation].completed < end->counts[operation].posted) {
		*broken = true;
		operation_fails(end, operation, FAULT_LATE, 0);
	} else {
		end->results[operation].state = OPERATION_OK;
		if (row->judge)
			row->judge(end, operation);
	}
}

/* Takes what the server has prepared. */
static void take_prepared(struct operation_end *end, const struct operations_offer *theirs)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (end->results[operation].state == OPERATION_SKIPPED &&
			theirs->prepared[operation].state != OPERATION_OK)
			end->results[operation] = theirs->prepared[operation];
}

/* Carries out the operations of a round, as bits. Returns 0, or -1 if the connection has ended. */
static int carry_out(struct operation_end *end, uint32_t wanted,
	const struct operations_offer *theirs, deadline_t deadline)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (wanted & UINT32_C(1) << operation)
			post_operation(end, operation, theirs, operation_rows[operation].post);
	if (operation_end_collect(end, deadline, all_completed))
		return -1;
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if ((wanted & UINT32_C(1) << operation) && operation_rows[operation].post_more &&
			end->counts[operation].posted > 0 &&
			end->counts[operation].status == IBV_WC_SUCCESS)
			post_operation(end, operation, theirs, operation_rows[operation].post_more);
	if (operation_end_collect(end, deadline, all_completed))
		return -1;
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if (open_of(end->results, wanted) & UINT32_C(1) << operation)
			judge_operation(end, operation);
	return 0;
}

/* Sends a command with this text and decodes the reply. Returns 0, or -1 with the failure. */
static int command(struct control *control, enum command_type type, const uint8_t *text,
	uint16_t size, struct command *reply, deadline_t deadline)
{
	struct command command = {.type = type, .text = (const char *)text, .text_size = size};

	return control_client_command(control, &command, reply, deadline);
}

/* Sends a command whose reply is the server's offer. Returns 0, or -1 with the failure recorded. */
static int take_offer(struct operation_end *end, enum command_type type, const uint8_t *text,
	uint16_t size, struct operations_offer *theirs, deadline_t deadline)
{
	struct command reply;

	if (command(end->control, type, text, size, &reply, deadline))
		return -1;
	if (operations_offer_decode(theirs, reply.text, reply.text_size))
		return failure_protocol(&end->control->failure, "operations_offer_decode",
			"the peer sent a malformed offer of operations");
	return 0;
}

/* Exchanges the offers. Returns 0, or -1 with the failure recorded. */
static int exchange_offers(struct operation_end *end, uint32_t wanted,
	struct operations_offer *theirs, deadline_t deadline)
{
	struct operations_offer ours = {.wanted = wanted};
	uint8_t text[OPERATIONS_OFFER_SIZE];

	describe(end, &ours);
	operations_offer_encode(&ours, text);
	return take_offer(end, COMMAND_OPERATIONS, text, sizeof(text), theirs, deadline);
}

/*
 * Takes the server's judgement. Messages use receives in order: if one has not arrived, those after
 * it have used the receives of others, and are tried again.
 */
static void take_judgement(
	struct operation_end *end, const struct operation_result theirs[OPERATIONS])
{
	bool wrong[OPERATION_QUEUES] = {false};

	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		enum operation_queue queue = operation_rows[operation].queue;

		if (end->results[operation].state != OPERATION_OK ||
			theirs[operation].state == OPERATION_OK)
			continue;
		if (wrong[queue])
			end->results[operation].state = OPERATION_SKIPPED;
		else
			end->results[operation] = theirs[operation];
		wrong[queue] = true;
	}
}

/* Adds what the server has found. Returns 0, or -1 with the failure recorded. */
static int exchange_results(struct operation_end *end, deadline_t deadline)
{
	struct operation_result theirs[OPERATIONS];
	uint8_t text[OPERATIONS_RESULTS_SIZE];
	struct command reply;

	operations_results_encode(end->results, text);
	if (command(end->control, COMMAND_OPERATIONS_END, text, sizeof(text), &reply, deadline))
		return -1;
	if (operations_results_decode(theirs, reply.text, reply.text_size))
		return failure_protocol(&end->control->failure, "operations_results_decode",
			"the peer sent malformed results of operations");
	take_judgement(end, theirs);
	return 0;
}

/* Records for the open operations on these queue pairs, as bits, that they are not connected. */
static void fail_links(struct operation_end *end, uint32_t queues, uint32_t wanted, int error)
{
	for (enum operation operation = 0; operation < OPERATIONS; operation++)
		if ((open_of(end->results, wanted) & UINT32_C(1) << operation) &&
			(queues & UINT32_C(1) << operation_rows[operation].queue))
			operation_fails(end, operation, FAULT_CONNECT, -error);
}

/* Requests the connections, and records which operations lack something of their queue pair. */
static void request_links(struct operation_end *end, uint32_t wanted,
	const struct operations_offer *theirs, deadline_t deadline)
{
	const uint32_t queues = queues_of(wanted);
	enum operation_lack lack;
	int error;

	for (enum operation_queue queue = 0; queue < OPERATION_QUEUES; queue++) {
		if (!(queues & UINT32_C(1) << queue))
			continue;
		error = operation_links_request(&end->links, queue,
			(uint16_t)theirs->queues[queue].number, theirs->queues[queue].sequence,
			deadline);
		if (error)
			fail_links(end, UINT32_C(1) << queue, wanted, error);
	}
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		lack = operation_rows[operation].lack(end);
		if ((open_of(end->results, wanted) & UINT32_C(1) << operation) &&
			lack != LACK_NOTHING)
			operation_lacks(end, operation, lack);
	}
}

/*
 * Over iWARP: connects the operations, and replaces the server's offer by that of what it has
 * prepared since. Returns 0, also if that fails, or -1 with the failure of the control connection
 * recorded.
 */
static int make_links(struct operation_end *end, uint32_t wanted, struct operations_offer *theirs,
	deadline_t deadline)
{
	deadline_t soon = deadline_in(LINK_MS);
	uint8_t text[OPERATIONS_RESULTS_SIZE];

	request_links(end, wanted, theirs, soon < deadline ? soon : deadline);
	operations_results_encode(end->results, text);
	if (take_offer(end, COMMAND_OPERATIONS_LINK, text, sizeof(text), theirs, deadline))
		return -1;
	take_prepared(end, theirs);
	fail_links(end, ~operation_links_establish(&end->links, soon < deadline ? soon : deadline),
		wanted, -ETIMEDOUT);
	return 0;
}

/* One round, with new queue pairs. Returns 0, or -1 if the control connection has failed. */
static int try_round(struct operation_end *end, uint32_t wanted, deadline_t deadline)
{
	struct operations_offer theirs;
	deadline_t soon;

	wanted = open_of(end->results, wanted);
	if (!wanted)
		return 0;
	if (exchange_offers(end, wanted, &theirs, deadline))
		return -1;
	take_prepared(end, &theirs);
	wanted = open_of(end->results, wanted);
	if (operation_end_links(end) && wanted && make_links(end, wanted, &theirs, deadline))
		return -1;
	wanted = open_of(end->results, wanted);
	soon = deadline_in(ROUND_MS);
	if (carry_out(end, wanted, &theirs, soon < deadline ? soon : deadline))
		return -1;
	return exchange_results(end, deadline);
}

int operations_try(
	struct control *control, deadline_t deadline, struct operation_result results[OPERATIONS])
{
	uint32_t wanted = OPERATIONS_ALL, left = 0;
	struct operation_end end;
	int error = 0;

	memset(results, 0, OPERATIONS * sizeof(*results));
	/* Each round has a result for at least one operation, or is the last. */
	while (!error && wanted && wanted != left && deadline_left(deadline) > 0) {
		open_end(&end, control, false, wanted);
		error = try_round(&end, wanted, deadline);
		for (enum operation operation = 0; operation < OPERATIONS; operation++)
			if (wanted & UINT32_C(1) << operation)
				results[operation] = end.results[operation];
		operation_end_close(&end);
		left = wanted;
		wanted = open_of(results, wanted);
	}
	return error;
}
