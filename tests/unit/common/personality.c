/* The table of personalities: see personality.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/common/personality.h"
#include "tests/unit/unit.h"

/* Memory windows of types 1 and 2, which a SEND can invalidate. */
#define WINDOWS \
	(IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS)

static const struct personality rows[] = {
	{
		.name = "soft-RoCE",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0xffffff,
		.reads_answered = 128,
		.reads_asked = 128,
		.late_events = true, /* sw/rxe/rxe_cq.c: rxe_send_complete() */
		/* sw/rxe/rxe_param.h; _ib_modify_qp() refuses its alternate path */
		.capabilities = WINDOWS | IBV_DEVICE_AUTO_PATH_MIG,
		.pieces = 32,
		.shared_receives = true,
		.unreliable = true,
		.lacks = "alternate path",
		.healthy = "duplicate_request 9\n",
		.receiver = "out_of_seq_request 60\n",
		.sender = "rcvd_seq_err 60\ncompleter_retry_err 5\n",
	},
	{
		.name = "mlx4",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0x02c9,
		/* hw/mlx4/main.c: mlx4_ib_query_device(); checked by qp.c: _mlx4_ib_modify_qp() */
		.reads_answered = 16,
		.reads_asked = 128,
		/* hw/mlx4/main.c: mlx4_ib_query_device() */
		.capabilities = WINDOWS | IBV_DEVICE_AUTO_PATH_MIG,
		.pieces = 32,
		.shared_receives = true,
		.unreliable = true,
		.infiniband = true,
		.lacks = "",
		.healthy = "rq_num_dup 9\n",
		.receiver = "rq_num_oos 60\n",
		.sender = "sq_num_oos 60\nsq_num_to 5\n",
	},
	{
		.name = "mlx5",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0x15b3,
		.reads_answered = 16,
		.reads_asked = 16,
		/* hw/mlx5/counters.c: out_of_seq_q_cnts, retrans_q_cnts; with adaptive routing */
		/* hw/mlx5/main.c: mlx5_ib_query_device(): bits apm and imaicl */
		.capabilities = WINDOWS | IBV_DEVICE_AUTO_PATH_MIG,
		.pieces = 30,
		.shared_receives = true,
		.unreliable = true,
		.infiniband = true,
		.lacks = "",
		.healthy = "out_of_sequence 5000\nduplicate_request 9\n",
		.receiver = "out_of_sequence 60\n",
		.sender = "packet_seq_err 60\nlocal_ack_timeout_err 5\n",
	},
	{
		.name = "bnxt_re",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0x14e4,
		.reads_answered = 126,
		.reads_asked = 126,
		/* libbnxt_re, verbs.c: bnxt_re_poll_term_cqe(), bnxt_re_poll_flush_lists() */
		.flushes_in_poll = true,
		/*
		 * hw/bnxt_re/ib_verbs.c: bnxt_re_query_device(); libbnxt_re, main.c: no alloc_mw;
		 * verbs.c: bnxt_re_check_qp_limits()
		 */
		.capabilities = WINDOWS,
		.pieces = 6,
		.shared_receives = true,
		.no_windows = true,
		.lacks = "memory window, unreliable connection, alternate path",
		.healthy = "dup_req 9\n",
		.receiver = "oos_drop_count 60\n",
		.sender = "seq_err_naks_rcvd 60\nto_retransmits 5\n",
	},
	{
		.name = "irdma-RoCE",
		.transport = IBV_TRANSPORT_IB,
		.vendor = 0x8086,
		/* hw/irdma/icrdma_hw.c: icrdma_init_hw() */
		.reads_answered = 127,
		.reads_asked = 255,
		.queries_in_part = true, /* hw/irdma/verbs.c: irdma_query_qp() */
		/* hw/irdma/verbs.c: irdma_query_device(), before the third generation */
		.capabilities = WINDOWS,
		.pieces = 13,
		.no_atomics = true,
		.lacks = "fetch-and-add, compare-and-swap, shared receive queue, unreliable "
			 "connection, alternate path",
		.healthy = "RxECNMrkd 9\n",
		.receiver = "Rcvd_Out_of_order_packets 60\n",
		.sender = "Nak_Sequence_Error 60\nRetransSegs 60\n",
	},
	{
		.name = "irdma-iWARP",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x8086,
		.reads_answered = 127,
		.reads_asked = 255,
		.queries_in_part = true,
		/* hw/irdma/verbs.c: irdma_modify_qp() repeats RTS, and resets TCP for ERR */
		.modify_resets = true,
		.one_family = true, /* hw/irdma/cm.c: irdma_create_listen() */
		.capabilities = WINDOWS,
		.pieces = 13,
		.no_atomics = true,
		.lacks =
			"SEND with immediate, WRITE with immediate, fetch-and-add, "
			"compare-and-swap, shared receive queue, unreliable connection, datagram, alternate "
			"path",
		.healthy = "ip4InDiscards 0\n",
		.receiver = "ip4InDiscards 60\n",
		.sender = "tcpRetransSegs 60\n",
	},
	{
		.name = "cxgb4",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x1425,
		.reads_answered = 32,
		.reads_asked = 32,
		.one_family = true, /* hw/cxgb4/cm.c: c4iw_create_listen() */
		.capabilities = IBV_DEVICE_MEM_WINDOW,
		.pieces = 4,
		.shared_receives = true,
		.no_atomics = true,
		.no_windows = true,
		.lacks =
			"SEND with immediate, WRITE with immediate, fetch-and-add, "
			"compare-and-swap, memory window, unreliable connection, datagram, alternate "
			"path",
		.healthy = "ip4InSegs 9\nip4RetransSegs 0\n",
		.receiver = "ip4InSegs 9\n",
		.sender = "ip4RetransSegs 60\n",
	},
	{
		.name = "siw",
		.transport = IBV_TRANSPORT_IWARP,
		.vendor = 0x626d74,
		/* sw/siw/siw.h: SIW_MAX_IRD_QP, SIW_MAX_ORD_QP */
		.reads_answered = 128,
		.reads_asked = 128,
		.pieces = 6, /* sw/siw/siw.h: SIW_MAX_SGE */
		.shared_receives = true,
		.no_atomics = true,
		.lacks =
			"SEND with immediate, WRITE with immediate, fetch-and-add, "
			"compare-and-swap, memory window, unreliable connection, datagram, alternate "
			"path",
		/*
		 * sw/siw/siw_qp_tx.c: siw_qp_sq_process() completes WRITEs and SENDs as soon as
		 * they are sent; a fenced one or too many READs stop the answers to the peer's
		 * READs (siw_qp.c: siw_activate_tx())
		 */
		.overtakes = true,
		.wakes_late = true, /* sw/siw/siw_cm.c: siw_accept() */
		.healthy = "",
		.receiver = "",
		.sender = "",
	},
};

const struct personality *personality_at(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

const struct personality *personality_over(enum ibv_transport_type transport)
{
	size_t i = 0;

	while (i < COUNT(rows) && rows[i].transport != transport)
		i++;
	assert_true(i < COUNT(rows));
	return &rows[i];
}

/* One test: a scenario on a personality. */
struct cell {
	const struct personality *personality;
	const struct scenario *scenario;
};

static void run_cell(void **state)
{
	const struct cell *cell = *state;

	cell->scenario->run(cell->personality);
}

/*
 * Runs one test in a process of its own, and prints its outcome for tests/unit/summary.awk. Returns
 * whether it has failed.
 */
static bool run_apart(const char *group, const struct cell *cell)
{
	struct CMUnitTest test = {.test_func = run_cell, .initial_state = (void *)cell};
	char name[64];
	bool crashed;
	int status;
	pid_t child;

	snprintf(name, sizeof(name), "%s: %s", cell->personality->name, cell->scenario->name);
	test.name = name;
	fflush(NULL);
	child = fork();
	if (child == 0)
		exit(unit_tests_run(group, &test, 1, NULL, NULL));
	if (child < 0 || waitpid(child, &status, 0) < 0)
		abort();
	crashed = !WIFEXITED(status) || WEXITSTATUS(status) > 1;
	if (crashed)
		unit_tests_report(0, 1, 0);
	printf("personality %s: %s\n", name, crashed ? "crashed" : status != 0 ? "FAILED" : "OK");
	return status != 0;
}

int personality_run(const char *group, const struct scenario *scenarios, size_t count)
{
	int failed = 0;

	for (size_t i = 0; i < COUNT(rows) * count; i++) {
		const struct cell cell = {&rows[i / count], &scenarios[i % count]};

		failed += run_apart(group, &cell);
	}
	return failed;
}
