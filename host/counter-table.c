/*
 * Counters that indicate a fault, by driver, named as in the Linux sources (drivers/infiniband). A
 * name used by several drivers is listed under the first and has the same meaning in all of them.
 * Counters that also increase on a healthy link, such as flushes when a queue pair closes, are
 * omitted. Constant data.
 */
#include <stdbool.h>
#include <string.h>

#include "host/counter-table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct counter_row rows[] = {
	/*
	 * soft-RoCE: sw/rxe/rxe_hw_counters.c; send_err: this host's own queueing discipline or
	 * firewall refused a packet
	 */
	{COUNTER_RETRANSMISSION, "completer_retry_err retry_exceeded_err"},
	{COUNTER_DUPLICATE, "duplicate_request"},
	{COUNTER_OUT_OF_ORDER, "out_of_seq_request rcvd_seq_err"},
	{COUNTER_RNR, "rcvd_rnr_err send_rnr_err retry_rnr_exceeded_err"},
	{COUNTER_CONGESTION, "send_err"},
	{COUNTER_LINK, "link_downed"},

	/* hw/mlx5/counters.c */
	{COUNTER_RETRANSMISSION, "local_ack_timeout_err roce_adp_retrans roce_adp_retrans_to "
				 "req_transport_retries_exceeded"},
	{COUNTER_OUT_OF_ORDER, "out_of_sequence packet_seq_err implied_nak_seq_err"},
	{COUNTER_RNR, "out_of_buffer rnr_nak_retry_err req_rnr_retries_exceeded"},
	{COUNTER_CONGESTION, "np_cnp_sent np_ecn_marked_roce_packets rp_cnp_handled "
			     "rp_cnp_ignored cc_rx_ce_pkts cc_rx_cnp_pkts cc_tx_cnp_pkts"},
	{COUNTER_LINK, "rx_icrc_encapsulated"},
	{COUNTER_ERROR, "req_remote_access_errors req_remote_invalid_request "
			"resp_remote_access_errors resp_local_length_error"},

	/* hw/mlx4/main.c */
	{COUNTER_RETRANSMISSION, "sq_num_to sq_num_tree"},
	{COUNTER_DUPLICATE, "rq_num_dup"},
	{COUNTER_OUT_OF_ORDER, "rq_num_oos sq_num_oos"},
	{COUNTER_RNR, "rq_num_rnr sq_num_rnr sq_num_rree"},
	{COUNTER_ERROR, "rq_num_rae sq_num_rae rq_num_rire sq_num_rire sq_num_roe rq_num_lle"},

	/* hw/bnxt_re/hw_counters.c; newer versions use some of mlx5's names */
	{COUNTER_RETRANSMISSION, "to_retransmits max_retry_exceeded"},
	{COUNTER_DUPLICATE, "dup_req"},
	{COUNTER_OUT_OF_ORDER, "missing_resp oos_drop_count seq_err_naks_rcvd"},
	{COUNTER_RNR, "rnr_naks_rcvd rx_out_of_buffer"},
	{COUNTER_CONGESTION, "tx_cnp_pkts np_cnp_pkts rx_cnp_pkts rx_ecn_marked_pkts "
			     "rx_roce_discards tx_roce_discards"},
	{COUNTER_LINK, "tx_roce_errors rx_roce_errors"},
	{COUNTER_ERROR,
		"remote_access_err remote_invalid_req_err remote_op_err local_qp_op_err "
		"local_protection_err res_length_mismatch res_rx_invalid_rkey res_rx_no_perm "
		"res_rx_range_err res_tx_invalid_rkey res_tx_no_perm res_tx_range_err"},

	/* hw/irdma/verbs.c; spaces replaced by "_". iWARP retransmits TCP segments. */
	{COUNTER_RETRANSMISSION, "tcpRetransSegs RetransSegs RTO"},
	{COUNTER_OUT_OF_ORDER, "Rcvd_Out_of_order_packets Nak_Sequence_Error "
			       "Nak_Sequence_Error_Implied"},
	{COUNTER_RNR, "RNR_sent RNR_received"},
	{COUNTER_CONGESTION, "cnpSent cnpHandled cnpIgnored RxECNMrkd ip4InDiscards "
			     "ip6InDiscards"},
	{COUNTER_LINK, "CRC_errors"},
	{COUNTER_ERROR, "ip4OutNoRoutes ip6OutNoRoutes"},

	/* hw/cxgb4/provider.c */
	{COUNTER_RETRANSMISSION, "ip4RetransSegs ip6RetransSegs"},

	/* hw/hns/hns_roce_main.c */
	{COUNTER_CONGESTION, "tx_cnp_pkt rx_cnp_pkt"},
	{COUNTER_LINK, "rx_err_pkt tx_err_pkt"},

	/* hw/efa/efa_verbs.c; retrans_bytes counts the same in bytes */
	{COUNTER_RETRANSMISSION, "retrans_pkts retrans_timeout_events unresponsive_remote_events"},
	{COUNTER_CONGESTION, "impaired_remote_conn_events rx_drops"},
	{COUNTER_ERROR, "rdma_read_wr_err rdma_write_wr_err"},

	/* hw/mana/counters.c */
	{COUNTER_RETRANSMISSION, "requester_timeout"},
	{COUNTER_DUPLICATE, "responder_dup_request"},
	{COUNTER_OUT_OF_ORDER, "requester_oos_nak responder_oos requester_implicit_nak"},
	{COUNTER_RNR, "requester_rnr_nak responder_rnr_nak"},
	{COUNTER_ERROR, "responder_rem_access_error"},

	/* events: verbs/device-events.c */
	{COUNTER_LINK, "event_port_error"},
	{COUNTER_ERROR, "event_device_fatal event_queue_pair_fatal event_invalid_request "
			"event_access_violation event_completion_queue_error "
			"event_shared_receive_queue_error"},

	/*
	 * Port counters: Documentation/ABI/stable/sysfs-class-infiniband. port_xmit_wait is a time
	 * in device ticks, VL15 carries management packets, a constraint is a filter or partition.
	 */
	{COUNTER_CONGESTION, "port_xmit_discards port_xmit_wait VL15_dropped"},
	{COUNTER_LINK, "symbol_error link_error_recovery port_rcv_errors "
		       "port_rcv_remote_physical_errors port_rcv_switch_relay_errors "
		       "port_rcv_constraint_errors port_xmit_constraint_errors "
		       "local_link_integrity_errors excessive_buffer_overrun_errors"},
};

const struct counter_row *counter_row(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

static bool is_among(const char *name, const char *names)
{
	size_t length;

	for (; *names; names += length + strspn(names + length, " ")) {
		length = strcspn(names, " ");
		if (strncmp(names, name, length) == 0 && name[length] == '\0')
			return true;
	}
	return false;
}

/* Skips the prefix of a virtual port's counter. */
static const char *base_name(const char *name)
{
	static const char virtual_port[] = "vport_";

	return strncmp(name, virtual_port, strlen(virtual_port)) == 0 ? name + strlen(virtual_port)
								      : name;
}

bool counter_is_nak(const char *name)
{
	/* rxe, mlx5, mlx4, bnxt_re, irdma, mana */
	return is_among(base_name(name), "rcvd_seq_err packet_seq_err sq_num_oos "
					 "seq_err_naks_rcvd Nak_Sequence_Error requester_oos_nak");
}

/* mlx5 queue pairs can accept out-of-order packets; other adapters answer with a sequence NAK. */
bool counter_is_reordering(const char *name)
{
	return is_among(base_name(name), "out_of_sequence");
}

enum counter_class counter_class(const char *name)
{
	name = base_name(name);
	for (size_t i = 0; i < COUNT(rows); i++)
		if (is_among(name, rows[i].names))
			return rows[i].class;
	return COUNTER_OTHER;
}
