/*
 * The counters that point to a fault, by driver, as the sources of Linux name them (drivers/infiniband). A
 * name that several drivers use stands at the first of them and means the same in all. Counters that also
 * increase when all is well, such as the flushes of a closing queue pair, are left out. Constant data.
 */
#include <string.h>

#include "host/counter-table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct counter_row rows[] = {
	/* soft-RoCE: sw/rxe/rxe_hw_counters.c */
	{"duplicate_request", COUNTER_DUPLICATE},
	{"completer_retry_err", COUNTER_RETRANSMISSION},
	{"retry_exceeded_err", COUNTER_RETRANSMISSION},
	{"out_of_seq_request", COUNTER_OUT_OF_ORDER},
	{"rcvd_seq_err", COUNTER_OUT_OF_ORDER},
	{"rcvd_rnr_err", COUNTER_RNR},
	{"send_rnr_err", COUNTER_RNR},
	{"retry_rnr_exceeded_err", COUNTER_RNR},
	{"send_err", COUNTER_LINK}, /* refused by the network interface */
	{"link_downed", COUNTER_LINK},

	/* hw/mlx5/counters.c */
	{"local_ack_timeout_err", COUNTER_RETRANSMISSION},
	{"roce_adp_retrans", COUNTER_RETRANSMISSION},
	{"roce_adp_retrans_to", COUNTER_RETRANSMISSION},
	{"req_transport_retries_exceeded", COUNTER_RETRANSMISSION},
	{"out_of_sequence", COUNTER_OUT_OF_ORDER},
	{"packet_seq_err", COUNTER_OUT_OF_ORDER},
	{"implied_nak_seq_err", COUNTER_OUT_OF_ORDER},
	{"out_of_buffer", COUNTER_RNR},
	{"rnr_nak_retry_err", COUNTER_RNR},
	{"req_rnr_retries_exceeded", COUNTER_RNR},
	{"np_cnp_sent", COUNTER_CONGESTION},
	{"np_ecn_marked_roce_packets", COUNTER_CONGESTION},
	{"rp_cnp_handled", COUNTER_CONGESTION},
	{"rp_cnp_ignored", COUNTER_CONGESTION},
	{"cc_rx_ce_pkts", COUNTER_CONGESTION},
	{"cc_rx_cnp_pkts", COUNTER_CONGESTION},
	{"cc_tx_cnp_pkts", COUNTER_CONGESTION},
	{"rx_icrc_encapsulated", COUNTER_LINK},
	{"req_remote_access_errors", COUNTER_ERROR},
	{"req_remote_invalid_request", COUNTER_ERROR},
	{"resp_remote_access_errors", COUNTER_ERROR},
	{"resp_local_length_error", COUNTER_ERROR},

	/* hw/mlx4/main.c */
	{"rq_num_dup", COUNTER_DUPLICATE},
	{"sq_num_to", COUNTER_RETRANSMISSION},
	{"sq_num_tree", COUNTER_RETRANSMISSION},
	{"rq_num_oos", COUNTER_OUT_OF_ORDER},
	{"sq_num_oos", COUNTER_OUT_OF_ORDER},
	{"rq_num_rnr", COUNTER_RNR},
	{"sq_num_rnr", COUNTER_RNR},
	{"sq_num_rree", COUNTER_RNR},
	{"rq_num_rae", COUNTER_ERROR},
	{"sq_num_rae", COUNTER_ERROR},
	{"rq_num_rire", COUNTER_ERROR},
	{"sq_num_rire", COUNTER_ERROR},
	{"sq_num_roe", COUNTER_ERROR},
	{"rq_num_lle", COUNTER_ERROR},

	/* hw/bnxt_re/hw_counters.c; newer versions have some of mlx5's names */
	{"to_retransmits", COUNTER_RETRANSMISSION},
	{"max_retry_exceeded", COUNTER_RETRANSMISSION},
	{"dup_req", COUNTER_DUPLICATE},
	{"missing_resp", COUNTER_OUT_OF_ORDER},
	{"oos_drop_count", COUNTER_OUT_OF_ORDER},
	{"seq_err_naks_rcvd", COUNTER_OUT_OF_ORDER},
	{"rnr_naks_rcvd", COUNTER_RNR},
	{"rx_out_of_buffer", COUNTER_RNR},
	{"tx_cnp_pkts", COUNTER_CONGESTION},
	{"np_cnp_pkts", COUNTER_CONGESTION},
	{"rx_cnp_pkts", COUNTER_CONGESTION},
	{"rx_ecn_marked_pkts", COUNTER_CONGESTION},
	{"rx_roce_discards", COUNTER_CONGESTION},
	{"tx_roce_discards", COUNTER_CONGESTION},
	{"tx_roce_errors", COUNTER_LINK},
	{"rx_roce_errors", COUNTER_LINK},
	{"remote_access_err", COUNTER_ERROR},
	{"remote_invalid_req_err", COUNTER_ERROR},
	{"remote_op_err", COUNTER_ERROR},
	{"local_qp_op_err", COUNTER_ERROR},
	{"local_protection_err", COUNTER_ERROR},
	{"res_length_mismatch", COUNTER_ERROR},
	{"res_rx_invalid_rkey", COUNTER_ERROR},
	{"res_rx_no_perm", COUNTER_ERROR},
	{"res_rx_range_err", COUNTER_ERROR},
	{"res_tx_invalid_rkey", COUNTER_ERROR},
	{"res_tx_no_perm", COUNTER_ERROR},
	{"res_tx_range_err", COUNTER_ERROR},

	/* hw/irdma/verbs.c; blanks as "_". iWARP retransmits TCP segments. */
	{"tcpRetransSegs", COUNTER_RETRANSMISSION},
	{"RetransSegs", COUNTER_RETRANSMISSION},
	{"RTO", COUNTER_RETRANSMISSION},
	{"Rcvd_Out_of_order_packets", COUNTER_OUT_OF_ORDER},
	{"Nak_Sequence_Error", COUNTER_OUT_OF_ORDER},
	{"Nak_Sequence_Error_Implied", COUNTER_OUT_OF_ORDER},
	{"RNR_sent", COUNTER_RNR},
	{"RNR_received", COUNTER_RNR},
	{"cnpSent", COUNTER_CONGESTION},
	{"cnpHandled", COUNTER_CONGESTION},
	{"cnpIgnored", COUNTER_CONGESTION},
	{"RxECNMrkd", COUNTER_CONGESTION},
	{"ip4InDiscards", COUNTER_CONGESTION},
	{"ip6InDiscards", COUNTER_CONGESTION},
	{"CRC_errors", COUNTER_LINK},
	{"ip4OutNoRoutes", COUNTER_ERROR},
	{"ip6OutNoRoutes", COUNTER_ERROR},

	/* hw/cxgb4/provider.c */
	{"ip4RetransSegs", COUNTER_RETRANSMISSION},
	{"ip6RetransSegs", COUNTER_RETRANSMISSION},

	/* hw/hns/hns_roce_main.c */
	{"tx_cnp_pkt", COUNTER_CONGESTION},
	{"rx_cnp_pkt", COUNTER_CONGESTION},
	{"rx_err_pkt", COUNTER_LINK},
	{"tx_err_pkt", COUNTER_LINK},

	/* hw/efa/efa_verbs.c; retrans_bytes counts the same in bytes */
	{"retrans_pkts", COUNTER_RETRANSMISSION},
	{"retrans_timeout_events", COUNTER_RETRANSMISSION},
	{"unresponsive_remote_events", COUNTER_RETRANSMISSION},
	{"impaired_remote_conn_events", COUNTER_CONGESTION},
	{"rx_drops", COUNTER_CONGESTION},
	{"rdma_read_wr_err", COUNTER_ERROR},
	{"rdma_write_wr_err", COUNTER_ERROR},

	/* hw/mana/counters.c */
	{"requester_timeout", COUNTER_RETRANSMISSION},
	{"responder_dup_request", COUNTER_DUPLICATE},
	{"requester_oos_nak", COUNTER_OUT_OF_ORDER},
	{"responder_oos", COUNTER_OUT_OF_ORDER},
	{"requester_implicit_nak", COUNTER_OUT_OF_ORDER},
	{"requester_rnr_nak", COUNTER_RNR},
	{"responder_rnr_nak", COUNTER_RNR},
	{"responder_rem_access_error", COUNTER_ERROR},

	/* A port's own counters: Documentation/ABI/stable/sysfs-class-infiniband */
	{"port_xmit_discards", COUNTER_CONGESTION},
	{"port_xmit_wait", COUNTER_CONGESTION}, /* a time, in ticks of the device */
	{"VL15_dropped", COUNTER_CONGESTION},   /* management packets */
	{"symbol_error", COUNTER_LINK},
	{"link_error_recovery", COUNTER_LINK},
	{"port_rcv_errors", COUNTER_LINK},
	{"port_rcv_remote_physical_errors", COUNTER_LINK},
	{"port_rcv_switch_relay_errors", COUNTER_LINK},
	{"port_rcv_constraint_errors", COUNTER_LINK},  /* filter or partition */
	{"port_xmit_constraint_errors", COUNTER_LINK}, /* filter or partition */
	{"local_link_integrity_errors", COUNTER_LINK},
	{"excessive_buffer_overrun_errors", COUNTER_LINK},
};

const struct counter_row *counter_row(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

enum counter_class counter_class(const char *name)
{
	static const char virtual_port[] = "vport_";

	if (strncmp(name, virtual_port, strlen(virtual_port)) == 0)
		name += strlen(virtual_port);
	for (size_t i = 0; i < COUNT(rows); i++)
		/* Most names differ in the first letter. */
		if (rows[i].name[0] == name[0] && strcmp(rows[i].name, name) == 0)
			return rows[i].class;
	return COUNTER_OTHER;
}
