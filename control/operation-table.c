/* The rows of the operations that a diagnosis tries: see control/operation-table.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "control/operation-table.h"
#include "verbs/bootstrap.h"

/* Arbitrary values that none of the memory contains before. */
#define IMMEDIATE(operation) (UINT32_C(0x72640000) + (operation))
#define COUNTER              UINT64_C(0x1122334455667788)
#define ADDED                UINT64_C(0x0101010101010101)
#define SWAPPED              UINT64_C(0x7264746573743a01)

/* Steps of the memory window: WRITE, SEND with invalidate, WRITE. */
#define WINDOW_REFUSED 2
#define WINDOW_STEPS   3

/* How long the server waits until its memory window is bound, in milliseconds. */
#define BIND_MS 1000

/* A piece of the operation's part of the local memory. */
static struct ibv_sge piece(
	const struct operation_end *end, enum operation operation, uint32_t offset, uint32_t size)
{
	return (struct ibv_sge){.addr = (uintptr_t)operation_part(end, operation) + offset,
		.length = size,
		.lkey = end->memory.mr->lkey};
}

/* The address of the operation's part of the server's memory. */
static uint64_t part_of(const struct operations_offer *theirs, enum operation operation)
{
	return theirs->address + (uint64_t)operation * OPERATION_PART;
}

static const struct device_traits *traits(const struct operation_end *end)
{
	return end->control->device.traits;
}

static const struct ibv_device_attr *attributes(const struct operation_end *end)
{
	return &end->control->device.attributes;
}

/* What a device may lack. */

static enum operation_lack lacks_nothing(const struct operation_end *end)
{
	(void)end;
	return LACK_NOTHING;
}

static enum operation_lack lacks_immediate(const struct operation_end *end)
{
	return traits(end)->immediate ? LACK_NOTHING : LACK_IMMEDIATE;
}

static enum operation_lack lacks_pieces(const struct operation_end *end)
{
	return attributes(end)->max_sge < 3 ? LACK_PIECES : LACK_NOTHING;
}

/* Only the side that sends needs it, and only its queue pair shows it. */
static enum operation_lack lacks_inline(const struct operation_end *end)
{
	return !end->passive && end->queues[OPERATION_QUEUE_CONNECTED].qp &&
			       end->queues[OPERATION_QUEUE_CONNECTED].inline_max < OPERATION_BYTES
		       ? LACK_INLINE
		       : LACK_NOTHING;
}

static enum operation_lack lacks_atomics(const struct operation_end *end)
{
	return device_has_atomics(&end->control->device) ? LACK_NOTHING : LACK_ATOMICS;
}

/* Only the side that receives needs it. */
static enum operation_lack lacks_shared(const struct operation_end *end)
{
	return end->passive && attributes(end)->max_srq == 0 ? LACK_SHARED : LACK_NOTHING;
}

/* Only the side whose memory is accessed needs it. */
static enum operation_lack lacks_windows(const struct operation_end *end)
{
	return end->passive && !device_has_windows(&end->control->device) ? LACK_WINDOWS
									  : LACK_NOTHING;
}

static enum operation_lack lacks_types(const struct operation_end *end)
{
	return traits(end)->own_queue_pairs ? LACK_NOTHING : LACK_IWARP;
}

/*
 * Linux refuses an alternate path of RoCE (_ib_modify_qp()), and soft-RoCE has the capability bit
 * nevertheless.
 */
static enum operation_lack lacks_migration(const struct operation_end *end)
{
	struct ibv_port_attr port = {0};

	if (!(attributes(end)->device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG))
		return LACK_MIGRATION;
	if (ibv_query_port(end->control->device.verbs, end->control->id->port_num, &port) ||
		port.link_layer == IBV_LINK_LAYER_ETHERNET || !traits(end)->own_queue_pairs)
		return LACK_INFINIBAND;
	return LACK_NOTHING;
}

/* What the server prepares. */

static int receive_bytes(struct operation_end *end, enum operation operation)
{
	static const uint32_t size = OPERATION_RECEIVE;

	return operation_post_receive(end, operation, operation_rows[operation].queue, 0, &size, 1);
}

/* The first piece takes less than arrives. */
static int receive_pieces(struct operation_end *end, enum operation operation)
{
	static const uint32_t sizes[] = {OPERATION_BYTES - 5, 5};

	return operation_post_receive(end, operation, operation_rows[operation].queue, 0, sizes, 2);
}

static int receive_copies(struct operation_end *end, enum operation operation)
{
	static const uint32_t size = OPERATION_RECEIVE;
	int error = 0;

	for (uint32_t i = 0; !error && i < OPERATION_COPIES; i++)
		error = operation_post_receive(end, operation, operation_rows[operation].queue,
			i * OPERATION_RECEIVE, &size, 1);
	return error;
}

/* The client READs it, and sends it back. */
static int offer_bytes(struct operation_end *end, enum operation operation)
{
	operation_fill(operation_part(end, operation), operation);
	return receive_bytes(end, operation);
}

static int offer_counter(struct operation_end *end, enum operation operation)
{
	static const uint64_t counter = COUNTER;

	memcpy(operation_part(end, operation), &counter, sizeof(counter));
	return 0;
}

static bool all_completed(const struct operation_end *end)
{
	return end->counts[OPERATION_WINDOW].completed == end->counts[OPERATION_WINDOW].posted;
}

/*
 * Type 2 windows are bound by a request of the queue pair, under a key that the program chooses;
 * those of type 1 by a call, which chooses the key.
 */
static int bind_window(struct operation_end *end, enum operation operation)
{
	const enum operation_queue queue = operation_rows[operation].queue;
	const bool second = attributes(end)->device_cap_flags &
			    (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	const struct ibv_mw_bind_info part = {
		.mr = end->memory.mr,
		.addr = (uintptr_t)operation_part(end, operation),
		.length = OPERATION_BYTES,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	struct ibv_mw_bind call = {
		.wr_id = operation, .send_flags = IBV_SEND_SIGNALED, .bind_info = part};
	struct ibv_send_wr request = {.opcode = IBV_WR_BIND_MW};
	int error;

	end->window = ibv_alloc_mw(end->pd, second ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	if (!end->window)
		return errno ? -errno : -EIO;
	if (second) {
		end->window_key = ibv_inc_rkey(end->window->rkey);
		request.bind_mw.mw = end->window;
		request.bind_mw.rkey = end->window_key;
		request.bind_mw.bind_info = part;
		error = operation_post(end, operation, queue, &request);
	} else {
		error = ibv_bind_mw(end->queues[queue].qp, end->window, &call);
		error = error > 0 ? -error : error;
		if (!error)
			end->counts[operation].posted++;
		end->window_key = end->window->rkey;
	}
	if (error)
		return error;
	if (operation_end_collect(end, deadline_in(BIND_MS), all_completed) || !all_completed(end))
		return -ETIMEDOUT;
	if (end->counts[operation].status != IBV_WC_SUCCESS)
		return -EIO;
	end->window_type = second ? 2 : 1;
	return receive_bytes(end, operation);
}

/* The path that the connection uses already, as a second one. InfiniBand, volume 1, 17.2.8. */
static int load_path(struct operation_end *end, enum operation operation)
{
	struct ibv_qp_attr path = {.qp_state = IBV_QPS_RTR};
	int error, mask;

	error = endpoint_post_result(
		bootstrap_of(end->control->id)->attributes(end->control->id, &path, &mask));
	if (error)
		return error;
	path.alt_ah_attr = path.ah_attr;
	path.alt_port_num = path.ah_attr.port_num;
	path.alt_timeout = TRANSPORT_ACK_TIMEOUT;
	path.path_mig_state = IBV_MIG_REARM;
	path.qp_state = IBV_QPS_INIT;
	error = endpoint_post_result(
		bootstrap_of(end->control->id)->attributes(end->control->id, &path, &mask));
	if (error)
		return error;
	path.alt_pkey_index = path.pkey_index;
	error = ibv_modify_qp(end->queues[operation_rows[operation].queue].qp, &path,
		IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE);
	return error > 0 ? -error : error;
}

/* What the client posts. */

static int post_send(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge sge = piece(end, operation, 0, OPERATION_BYTES);
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};

	(void)theirs;
	operation_fill(operation_part(end, operation), operation);
	return operation_post(end, operation, operation_rows[operation].queue, &request);
}

static int post_send_immediate(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge sge = piece(end, operation, 0, OPERATION_BYTES);
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND_WITH_IMM,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htobe32(IMMEDIATE(operation))};

	(void)theirs;
	operation_fill(operation_part(end, operation), operation);
	return operation_post(end, operation, operation_rows[operation].queue, &request);
}

static int post_write_immediate(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge sge = piece(end, operation, 0, OPERATION_BYTES);
	struct ibv_send_wr request = {.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htobe32(IMMEDIATE(operation)),
		.wr.rdma = {.remote_addr = part_of(theirs, operation), .rkey = theirs->rkey}};

	operation_fill(operation_part(end, operation), operation);
	return operation_post(end, operation, operation_rows[operation].queue, &request);
}

static int post_empty(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge nothing = piece(end, operation, 0, 0);
	struct ibv_send_wr request = {
		.opcode = operation == OPERATION_EMPTY_WRITE  ? IBV_WR_RDMA_WRITE
			  : operation == OPERATION_EMPTY_READ ? IBV_WR_RDMA_READ
							      : IBV_WR_SEND,
		.sg_list = &nothing,
		.num_sge = operation == OPERATION_EMPTY_READ};

	if (operation != OPERATION_EMPTY_SEND) {
		request.wr.rdma.remote_addr = part_of(theirs, operation);
		request.wr.rdma.rkey = theirs->rkey;
	}
	return operation_post(end, operation, operation_rows[operation].queue, &request);
}

/* The pieces lie in the opposite order of the data. */
static int post_pieces(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge list[] = {piece(end, operation, 64, 3), piece(end, operation, 32, 6),
		piece(end, operation, 0, OPERATION_BYTES - 9)};
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND, .sg_list = list, .num_sge = 3};
	uint8_t data[OPERATION_BYTES];

	(void)theirs;
	operation_fill(data, operation);
	memcpy(operation_part(end, operation) + 64, data, 3);
	memcpy(operation_part(end, operation) + 32, data + 3, 6);
	memcpy(operation_part(end, operation), data + 9, OPERATION_BYTES - 9);
	return operation_post(end, operation, operation_rows[operation].queue, &request);
}

/* Inline data needs no registered memory, and may be overwritten at once. */
static int post_inline(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	uint8_t data[OPERATION_BYTES];
	struct ibv_sge sge = {.addr = (uintptr_t)data, .length = sizeof(data)};
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_INLINE};
	int error;

	(void)theirs;
	operation_fill(data, operation);
	error = operation_post(end, operation, operation_rows[operation].queue, &request);
	explicit_bzero(data, sizeof(data));
	return error;
}

/* Without the fence, the SEND might take what was there before. */
static int post_fence(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge sge = piece(end, operation, OPERATION_FETCHED, OPERATION_BYTES);
	struct ibv_send_wr read = {.opcode = IBV_WR_RDMA_READ,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = part_of(theirs, operation), .rkey = theirs->rkey}};
	struct ibv_send_wr send = {
		.opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_FENCE};
	int error = operation_post(end, operation, operation_rows[operation].queue, &read);

	return error ? error
		     : operation_post(end, operation, operation_rows[operation].queue, &send);
}

static int post_atomic(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	bool adds = operation == OPERATION_FETCH_ADD;
	struct ibv_sge sge = piece(end, operation, OPERATION_FETCHED, sizeof(uint64_t));
	struct ibv_send_wr request = {
		.opcode = adds ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_ATOMIC_CMP_AND_SWP,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.atomic = {.remote_addr = part_of(theirs, operation),
			.rkey = theirs->rkey,
			.compare_add = adds ? ADDED : COUNTER,
			.swap = SWAPPED}};

	return operation_post(end, operation, operation_rows[operation].queue, &request);
}

static int post_copies(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	int error = 0;

	for (int i = 0; !error && i < OPERATION_COPIES; i++)
		error = post_send(end, operation, theirs);
	return error;
}

static int post_datagrams(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_sge sge = piece(end, operation, 0, OPERATION_BYTES);
	struct ibv_send_wr request = {.opcode = IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.ud = {.ah = end->address,
			.remote_qpn = theirs->queues[OPERATION_QUEUE_DATAGRAM].number,
			.remote_qkey = OPERATION_QKEY}};
	int error = 0;

	operation_fill(operation_part(end, operation), operation);
	for (int i = 0; !error && i < OPERATION_COPIES; i++)
		error = operation_post(end, operation, operation_rows[operation].queue, &request);
	return error;
}

/*
 * A WRITE through the window; a SEND that invalidates it, which only windows of type 2 allow; and a
 * WRITE that must be refused. On iWARP, a WRITE completes before the other end refuses it.
 */
static int post_window(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	const enum operation_queue queue = operation_rows[operation].queue;
	struct ibv_sge sge = piece(end, operation, 0, OPERATION_BYTES);
	struct ibv_send_wr write = {.opcode = IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = {.remote_addr = part_of(theirs, operation), .rkey = theirs->window}};
	struct ibv_send_wr invalidate = {
		.opcode = theirs->window_type == 2 ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.invalidate_rkey = theirs->window_type == 2 ? theirs->window : 0};
	int error;

	operation_fill(operation_part(end, operation), operation);
	error = operation_post(end, operation, queue, &write);
	if (!error)
		error = operation_post(end, operation, queue, &invalidate);
	if (!error && theirs->window_type == 2 && !operation_end_links(end))
		error = operation_post(end, operation, queue, &write);
	return error;
}

static int post_path(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	int error = load_path(end, operation);

	return error ? error : post_send(end, operation, theirs);
}

/* The packets of the first SEND have armed the path, if the device has more than the capability. */
static int post_migrated(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	struct ibv_qp *qp = end->queues[operation_rows[operation].queue].qp;
	struct ibv_qp_attr path = {0};
	struct ibv_qp_init_attr initial;
	int error = ibv_query_qp(qp, &path, IBV_QP_PATH_MIG_STATE, &initial);

	if (!error && path.path_mig_state == IBV_MIG_ARMED) {
		path.path_mig_state = IBV_MIG_MIGRATED;
		error = ibv_modify_qp(qp, &path, IBV_QP_PATH_MIG_STATE);
	}
	if (error)
		return error > 0 ? -error : error;
	return post_send(end, operation, theirs);
}

static int receive_twice(struct operation_end *end, enum operation operation)
{
	static const uint32_t size = OPERATION_RECEIVE;
	int error = receive_bytes(end, operation);

	return error ? error
		     : operation_post_receive(end, operation, operation_rows[operation].queue,
			       OPERATION_RECEIVE, &size, 1);
}

static int prepare_path(struct operation_end *end, enum operation operation)
{
	int error = load_path(end, operation);

	return error ? error : receive_twice(end, operation);
}

static int post_two(
	struct operation_end *end, enum operation operation, const struct operations_offer *theirs)
{
	int error = post_send(end, operation, theirs);

	return error ? error : post_send(end, operation, theirs);
}

/* What the client judges. */

static void judge_atomic(struct operation_end *end, enum operation operation)
{
	static const uint64_t counter = COUNTER;

	if (memcmp(operation_part(end, operation) + OPERATION_FETCHED, &counter, sizeof(counter)) !=
		0)
		operation_fails(end, operation, FAULT_VALUE, 0);
}

static void judge_window(struct operation_end *end, enum operation operation)
{
	if (end->counts[operation].posted == WINDOW_STEPS &&
		end->counts[operation].status == IBV_WC_SUCCESS)
		operation_fails(end, operation, FAULT_OPEN, 0);
}

/* What the server judges. */

/* Receives lie side by side. */
static void judge_receives(struct operation_end *end, enum operation operation, unsigned int count)
{
	const uint8_t *data = operation_receive(end, operation);

	for (size_t i = 0; i < count; i++)
		if (!operation_is_filled(data + i * OPERATION_RECEIVE, operation))
			operation_fails(end, operation, FAULT_DATA, 0);
	if (end->counts[operation].last.byte_len != OPERATION_BYTES)
		operation_fails(end, operation, FAULT_LENGTH, 0);
}

static void judge_data(struct operation_end *end, enum operation operation)
{
	judge_receives(end, operation, 1);
}

static void judge_two(struct operation_end *end, enum operation operation)
{
	judge_receives(end, operation, 2);
}

/* Which receive took the client's datagram is unknown: strangers' may be among them. */
static void judge_datagrams(struct operation_end *end, enum operation operation)
{
	const uint8_t *data = operation_receive(end, operation) + OPERATION_HEADER;
	const struct ibv_wc *last = &end->counts[operation].last;

	if (!(last->wc_flags & IBV_WC_GRH))
		operation_fails(end, operation, FAULT_HEADER, 0);
	else if (last->byte_len != OPERATION_HEADER + OPERATION_BYTES)
		operation_fails(end, operation, FAULT_LENGTH, 0);
	else if (!operation_is_filled(data, operation) &&
		 !operation_is_filled(data + OPERATION_RECEIVE, operation) &&
		 !operation_is_filled(data + 2 * (size_t)OPERATION_RECEIVE, operation))
		operation_fails(end, operation, FAULT_DATA, 0);
}

static void judge_empty(struct operation_end *end, enum operation operation)
{
	if (end->counts[operation].last.byte_len != 0)
		operation_fails(end, operation, FAULT_LENGTH, 0);
}

static bool has_immediate(const struct operation_end *end, enum operation operation)
{
	const struct ibv_wc *last = &end->counts[operation].last;

	return (last->wc_flags & IBV_WC_WITH_IMM) &&
	       last->imm_data == htobe32(IMMEDIATE(operation));
}

static void judge_immediate(struct operation_end *end, enum operation operation)
{
	if (!has_immediate(end, operation))
		operation_fails(end, operation, FAULT_IMMEDIATE, 0);
	else
		judge_data(end, operation);
}

/* The data is in the memory, and the receive was only used up. */
static void judge_written(struct operation_end *end, enum operation operation)
{
	const struct ibv_wc *last = &end->counts[operation].last;

	if (last->opcode != IBV_WC_RECV_RDMA_WITH_IMM || !has_immediate(end, operation))
		operation_fails(end, operation, FAULT_IMMEDIATE, 0);
	else if (!operation_is_filled(operation_part(end, operation), operation))
		operation_fails(end, operation, FAULT_DATA, 0);
}

static void judge_counter(struct operation_end *end, enum operation operation)
{
	const uint64_t now = operation == OPERATION_FETCH_ADD ? COUNTER + ADDED : SWAPPED;

	if (memcmp(operation_part(end, operation), &now, sizeof(now)) != 0)
		operation_fails(end, operation, FAULT_VALUE, 0);
}

/*
 * The flag IBV_WC_WITH_INV would say whether a key was invalidated, but soft-RoCE passes on that of
 * the kernel (sw/rxe/rxe_resp.c: do_complete()), which is another bit.
 */
static void judge_window_there(struct operation_end *end, enum operation operation)
{
	if (end->window_type == 2 &&
		end->counts[operation].last.invalidated_rkey != end->window_key)
		operation_fails(end, operation, FAULT_OPEN, 0);
	else if (!operation_is_filled(operation_part(end, operation), operation))
		operation_fails(end, operation, FAULT_DATA, 0);
}

/* clang-format off */
#define CONNECTED .queue = OPERATION_QUEUE_CONNECTED
/* clang-format on */

const struct operation_row operation_rows[OPERATIONS] = {
	[OPERATION_SEND] = {CONNECTED, .lack = lacks_nothing, .prepare = receive_bytes,
		.post = post_send, .receives = 1, .judge_there = judge_data},
	[OPERATION_SEND_IMMEDIATE] = {CONNECTED, .lack = lacks_immediate, .prepare = receive_bytes,
		.post = post_send_immediate, .receives = 1, .judge_there = judge_immediate},
	[OPERATION_WRITE_IMMEDIATE] = {CONNECTED, .lack = lacks_immediate, .prepare = receive_bytes,
		.post = post_write_immediate, .receives = 1, .judge_there = judge_written},
	[OPERATION_EMPTY_WRITE] = {CONNECTED, .lack = lacks_nothing, .post = post_empty},
	[OPERATION_EMPTY_READ] = {CONNECTED, .lack = lacks_nothing, .post = post_empty},
	[OPERATION_EMPTY_SEND] = {CONNECTED, .lack = lacks_nothing, .prepare = receive_bytes,
		.post = post_empty, .receives = 1, .judge_there = judge_empty},
	[OPERATION_GATHER] = {CONNECTED, .lack = lacks_pieces, .prepare = receive_pieces,
		.post = post_pieces, .receives = 1, .judge_there = judge_data},
	[OPERATION_INLINE] = {CONNECTED, .lack = lacks_inline, .prepare = receive_bytes,
		.post = post_inline, .receives = 1, .judge_there = judge_data},
	[OPERATION_FENCE] = {CONNECTED, .lack = lacks_nothing, .prepare = offer_bytes,
		.post = post_fence, .receives = 1, .judge_there = judge_data},
	[OPERATION_FETCH_ADD] = {CONNECTED, .lack = lacks_atomics, .prepare = offer_counter,
		.post = post_atomic, .judge = judge_atomic, .judge_there = judge_counter},
	[OPERATION_COMPARE_SWAP] = {CONNECTED, .lack = lacks_atomics, .prepare = offer_counter,
		.post = post_atomic, .judge = judge_atomic, .judge_there = judge_counter},
	[OPERATION_SHARED_RECEIVE] = {.queue = OPERATION_QUEUE_SHARED,
		.lack = lacks_shared,
		.prepare = receive_twice,
		.post = post_two,
		.receives = 2,
		.judge_there = judge_two},
	[OPERATION_WINDOW] = {.queue = OPERATION_QUEUE_WINDOW,
		.lack = lacks_windows,
		.prepare = bind_window,
		.post = post_window,
		.judge = judge_window,
		.receives = 1,
		.judge_there = judge_window_there,
		.refused_step = WINDOW_REFUSED},
	[OPERATION_UNRELIABLE] = {.queue = OPERATION_QUEUE_UNRELIABLE,
		.lack = lacks_types,
		.without_queue = LACK_UNRELIABLE,
		.prepare = receive_copies,
		.post = post_copies,
		.receives = 1,
		.judge_there = judge_data},
	[OPERATION_DATAGRAM] = {.queue = OPERATION_QUEUE_DATAGRAM,
		.lack = lacks_types,
		.without_queue = LACK_DATAGRAMS,
		.prepare = receive_copies,
		.post = post_datagrams,
		.receives = 1,
		.judge_there = judge_datagrams},
	[OPERATION_PATH] = {.queue = OPERATION_QUEUE_PATH,
		.lack = lacks_migration,
		.prepare = prepare_path,
		.post = post_path,
		.post_more = post_migrated,
		.receives = 2,
		.judge_there = judge_two},
};
