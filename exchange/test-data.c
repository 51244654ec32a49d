/* Data that fills packets of the path MTU: see exchange/test-data.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "exchange/test-data.h"
#include "protocol/test-pattern.h"

#define SEED UINT64_C(0x72646d6170616972)

/*
 * How long an exchange of two texts or an acknowledgement may take before packets count as lost,
 * in milliseconds.
 */
#define LATE_MS 2000

void test_data_offer(struct connection *connection, bool texts)
{
	const struct device *device = connection->device;
	bool passive = !connection->settings->active;

	/*
	 * Test data is written or read, so send mode has none. On iWARP, TCP adapts its segments
	 * to the MTUs of both ends.
	 */
	if (!texts || connection->mover->exposes == EXPOSES_NOTHING ||
		(connection->settings->plans & HELLO_TAKES_FILE) ||
		device->traits->transport != IBV_TRANSPORT_IB)
		return;
	/* A server needs another page for it, which it keeps for other clients if few are left. */
	if (passive && (!connection->theirs.mtu || !memory_is_ample()))
		return;
	connection->mtu = (uint16_t)device_mtu(device, connection->id->port_num);
	connection->test_data = passive && connection->mtu;
}

void test_data_accepted(struct connection *connection)
{
	const struct hello *theirs = &connection->theirs;

	connection->test_data = connection->mtu && theirs->mtu && theirs->size <= SINK_TEXT_SIZE;
	if (connection->mtu && !connection->test_data)
		output_detail(connection->settings->output,
			"%s takes no test data, so packets of the path MTU are not tried: its "
			"release is older, or it has little locked memory left",
			connection->peer);
}

void test_data_fill(const struct connection *connection)
{
	size_t size = (size_t)source_size(connection->source);

	if (connection->test_data)
		pattern_fill(connection->outgoing.start + size, TEST_DATA_SIZE - size, SEED);
}

enum exchange_event test_data_move(struct connection *connection)
{
	const struct message *peer = &connection->peer_mr;
	bool reads = connection->mode->reads;
	const struct region *region = reads ? &connection->incoming : &connection->outgoing;
	unsigned int operations = TEST_DATA_OPERATIONS;
	enum exchange_event event = EVENT_NONE;

	if (!connection->test_data)
		return EVENT_NONE;
	if (peer->length < TEST_DATA_SIZE)
		return connection_fail(connection, FAILURE_PROTOCOL, -EPROTO, message_name(MSG_MR),
			"the peer's region of %" PRIu64 " bytes is too small for test data",
			peer->length);
	if (reads && operations > connection->initiator_depth)
		operations = connection->initiator_depth;
	for (unsigned int i = 1; i <= operations && event == EVENT_NONE; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)region->start,
			.length = TEST_DATA_SIZE,
			.lkey = region->mr->lkey,
		};
		struct ibv_send_wr request = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			.send_flags = i == operations ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = {.remote_addr = peer->address, .rkey = peer->rkey},
		};

		event = connection_post(connection, OPERATION_TEST_DATA, &request);
	}
	return event;
}

bool test_data_is_intact(const struct connection *connection)
{
	size_t size = (size_t)connection->peer_done.length;

	return !connection->test_data ||
	       pattern_check(connection->incoming.start + size, TEST_DATA_SIZE - size, SEED) ==
		       TEST_DATA_SIZE - size;
}

/* When the exchange ended, as far as the peer or the local timeout decided it. */
static deadline_t end_of(const struct connection *connection)
{
	deadline_t ended = connection->aborted, disconnected = connection->disconnected;

	if (ended && disconnected)
		return ended < disconnected ? ended : disconnected;
	return ended ? ended : disconnected;
}

static bool may_be_loss(const struct failure *failure)
{
	return (failure->kind == FAILURE_COMPLETION && failure->code == IBV_WC_RETRY_EXC_ERR) ||
	       failure->kind == FAILURE_DEADLINE || failure->kind == FAILURE_GONE ||
	       failure->kind == FAILURE_ABORTED;
}

/* The packets that the queue pair sends are larger than one of the two ports allows. */
static bool is_mismatch(const struct connection *connection, unsigned int path)
{
	return path > connection->mtu || path > connection->theirs.mtu;
}

static void blame_mtus(struct connection *connection, unsigned int path)
{
	connection->failure = (struct failure){0};
	connection_fail(connection, FAILURE_IMPAIRED, IMPAIRED_RDMA_MTU, "--timeout",
		"path %u, this host %u, the other host %u bytes", path, connection->mtu,
		connection->theirs.mtu);
}

void test_data_explain_unsent(struct connection *connection)
{
	const struct failure *failure = &connection->failure;
	unsigned int path;

	if (!connection->test_data || failure->kind != FAILURE_COMPLETION ||
		failure->code != CODE_UNSENT)
		return;
	path = endpoint_path_mtu(&connection->endpoint);
	if (path > connection->mtu)
		blame_mtus(connection, path);
}

void test_data_explain(struct connection *connection)
{
	struct failure *failure = &connection->failure;
	deadline_t end = end_of(connection);
	int64_t silent = end - connection->last_acknowledged;
	unsigned int path;

	if (!connection->test_data || !connection->stream_start || !may_be_loss(failure) ||
		end - connection->stream_start < LATE_MS)
		return;
	path = endpoint_path_mtu(&connection->endpoint);
	if (is_mismatch(connection, path)) {
		blame_mtus(connection, path);
	} else if (!connection->test_data_moved && silent >= LATE_MS) {
		*failure = (struct failure){0};
		connection_fail(connection, FAILURE_IMPAIRED, IMPAIRED_LARGE_DATA, "--timeout",
			"test data in packets of %u bytes was not acknowledged for %.1f s, small "
			"messages before it were",
			path, (double)silent / 1000);
	}
}
