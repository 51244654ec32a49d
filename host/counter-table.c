#include <string.h>

#include "host/counters.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What drivers of several makers count under names of their own. */
#define PEER_REPEATED "the peer sent a request again that had arrived here already"
#define ACK_TIMEOUT \
	"an acknowledgement of the peer did not come in time, so packets were sent again"
#define SENT_AGAIN   "this port sent packets again"
#define RETRIES_OVER "a request failed because it was sent again as often as allowed, in vain"
#define RNR_OVER \
	"a request failed because the peer had no receive posted, however often it was asked"
#define GAP_HERE       "packets arrived here out of order, or some before them were lost"
#define GAP_THERE      "the peer said that packets had arrived there out of order, or were lost"
#define GAP_IMPLIED    "an answer of the peer showed that an earlier one was lost"
#define PEER_NOT_READY "the peer had no receive posted for what this port sent"
#define NOT_READY      "a message arrived here for which no receive was posted"
#define CNP_SENT       "this port told a sender to slow down, because its packets met congestion"
#define CNP_HANDLED    "this port was told to slow down because of congestion, and did"
#define CNP_IGNORED    "this port was told to slow down because of congestion, and did not"
#define ECN_MARKED     "packets arrived that a switch on the way had marked for congestion"
#define DAMAGED        "packets arrived damaged (the invariant CRC was wrong)"
#define REFUSED_HERE   "this host refused a request of the peer: wrong key, address or right"
#define REFUSED_THERE  "the peer refused a request of this host: wrong key, address or right"
#define INVALID_HERE   "this host refused a request of the peer as invalid"
#define INVALID_THERE  "the peer refused a request of this host as invalid"
#define TOO_LONG       "a message did not fit into the receive that was posted for it"
#define FAILED_THERE   "the peer could not carry out a request of this host"
#define OWN_FAULT      "a work request of this host was wrong: queue pair, key or address"

/*
 * By driver, as the sources of Linux name them (drivers/infiniband). A name that several drivers use
 * stands where it is met first, and means the same in all. What also happens when all is well, such as
 * the flushes of a closing queue pair, is COUNTER_OTHER.
 */
static const struct counter_meaning rows[] = {
	/* soft-RoCE: sw/rxe/rxe_hw_counters.c */
	{"duplicate_request", COUNTER_DUPLICATE, PEER_REPEATED},
	{"completer_retry_err", COUNTER_RETRANSMISSION, SENT_AGAIN},
	{"retry_exceeded_err", COUNTER_RETRANSMISSION, RETRIES_OVER},
	{"out_of_seq_request", COUNTER_OUT_OF_ORDER, GAP_HERE},
	{"rcvd_seq_err", COUNTER_OUT_OF_ORDER, GAP_THERE},
	{"rcvd_rnr_err", COUNTER_RNR, PEER_NOT_READY},
	{"send_rnr_err", COUNTER_RNR, NOT_READY},
	{"retry_rnr_exceeded_err", COUNTER_RNR, RNR_OVER},
	{"send_err", COUNTER_LINK, "the network interface did not take a packet to send"},
	{"link_downed", COUNTER_LINK, "the link went down"},
	{"ack_deferred", COUNTER_OTHER, "soft-RoCE put off answers of the peer to a thread"},
	{"sent_pkts", COUNTER_OTHER, "this port sent packets"},
	{"rcvd_pkts", COUNTER_OTHER, "this port received packets"},

	/* hw/mlx5/counters.c */
	{"local_ack_timeout_err", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"roce_adp_retrans", COUNTER_RETRANSMISSION, SENT_AGAIN},
	{"roce_adp_retrans_to", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"req_transport_retries_exceeded", COUNTER_RETRANSMISSION, RETRIES_OVER},
	{"out_of_sequence", COUNTER_OUT_OF_ORDER, GAP_HERE},
	{"packet_seq_err", COUNTER_OUT_OF_ORDER, GAP_THERE},
	{"implied_nak_seq_err", COUNTER_OUT_OF_ORDER, GAP_IMPLIED},
	{"out_of_buffer", COUNTER_RNR, NOT_READY},
	{"rnr_nak_retry_err", COUNTER_RNR, PEER_NOT_READY},
	{"req_rnr_retries_exceeded", COUNTER_RNR, RNR_OVER},
	{"np_cnp_sent", COUNTER_CONGESTION, CNP_SENT},
	{"np_ecn_marked_roce_packets", COUNTER_CONGESTION, ECN_MARKED},
	{"rp_cnp_handled", COUNTER_CONGESTION, CNP_HANDLED},
	{"rp_cnp_ignored", COUNTER_CONGESTION, CNP_IGNORED},
	{"cc_rx_ce_pkts", COUNTER_CONGESTION, ECN_MARKED},
	{"cc_rx_cnp_pkts", COUNTER_CONGESTION, CNP_HANDLED},
	{"cc_tx_cnp_pkts", COUNTER_CONGESTION, CNP_SENT},
	{"rx_icrc_encapsulated", COUNTER_LINK, DAMAGED},
	{"req_remote_access_errors", COUNTER_ERROR, REFUSED_THERE},
	{"req_remote_invalid_request", COUNTER_ERROR, INVALID_THERE},
	{"resp_remote_access_errors", COUNTER_ERROR, REFUSED_HERE},
	{"resp_local_length_error", COUNTER_ERROR, TOO_LONG},
	{"roce_slow_restart", COUNTER_OTHER, "a stream began slowly after a pause"},
	{"roce_slow_restart_cnps", COUNTER_OTHER,
		"a stream that began after a pause was told to slow down"},
	{"roce_slow_restart_trans", COUNTER_OTHER, "a stream went over to beginning slowly"},
	{"req_cqe_error", COUNTER_OTHER, "requests of this host failed or were flushed"},
	{"resp_cqe_error", COUNTER_OTHER, "receives of this host failed or were flushed"},
	{"req_cqe_flush_error", COUNTER_OTHER, "requests were flushed from a closing queue pair"},
	{"resp_cqe_flush_error", COUNTER_OTHER, "receives were flushed from a closing queue pair"},

	/* hw/mlx4/main.c */
	{"rq_num_dup", COUNTER_DUPLICATE, PEER_REPEATED},
	{"sq_num_to", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"sq_num_tree", COUNTER_RETRANSMISSION, RETRIES_OVER},
	{"rq_num_oos", COUNTER_OUT_OF_ORDER, GAP_HERE},
	{"sq_num_oos", COUNTER_OUT_OF_ORDER, GAP_THERE},
	{"rq_num_rnr", COUNTER_RNR, NOT_READY},
	{"sq_num_rnr", COUNTER_RNR, PEER_NOT_READY},
	{"sq_num_rree", COUNTER_RNR, RNR_OVER},
	{"rq_num_rae", COUNTER_ERROR, REFUSED_HERE},
	{"sq_num_rae", COUNTER_ERROR, REFUSED_THERE},
	{"rq_num_rire", COUNTER_ERROR, INVALID_HERE},
	{"sq_num_rire", COUNTER_ERROR, INVALID_THERE},
	{"sq_num_roe", COUNTER_ERROR, FAILED_THERE},
	{"rq_num_lle", COUNTER_ERROR, TOO_LONG},

	/* hw/bnxt_re/hw_counters.c; newer ones use mlx5's names for some */
	{"to_retransmits", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"max_retry_exceeded", COUNTER_RETRANSMISSION, RETRIES_OVER},
	{"dup_req", COUNTER_DUPLICATE, PEER_REPEATED},
	{"missing_resp", COUNTER_OUT_OF_ORDER, GAP_IMPLIED},
	{"oos_drop_count", COUNTER_OUT_OF_ORDER, GAP_HERE},
	{"seq_err_naks_rcvd", COUNTER_OUT_OF_ORDER, GAP_THERE},
	{"rnr_naks_rcvd", COUNTER_RNR, PEER_NOT_READY},
	{"rx_out_of_buffer", COUNTER_RNR, NOT_READY},
	{"tx_cnp_pkts", COUNTER_CONGESTION, CNP_SENT},
	{"np_cnp_pkts", COUNTER_CONGESTION, CNP_SENT},
	{"rx_cnp_pkts", COUNTER_CONGESTION, CNP_HANDLED},
	{"rx_ecn_marked_pkts", COUNTER_CONGESTION, ECN_MARKED},
	{"rx_roce_discards", COUNTER_CONGESTION, "this port dropped RoCE packets that it received"},
	{"tx_roce_discards", COUNTER_CONGESTION,
		"this port dropped RoCE packets that were to be sent"},
	{"tx_roce_errors", COUNTER_LINK, "RoCE packets could not be sent"},
	{"rx_roce_errors", COUNTER_LINK, "RoCE packets arrived with errors"},
	{"remote_access_err", COUNTER_ERROR, REFUSED_THERE},
	{"remote_invalid_req_err", COUNTER_ERROR, INVALID_THERE},
	{"remote_op_err", COUNTER_ERROR, FAILED_THERE},
	{"local_qp_op_err", COUNTER_ERROR, OWN_FAULT},
	{"local_protection_err", COUNTER_ERROR, OWN_FAULT},
	{"res_length_mismatch", COUNTER_ERROR, INVALID_HERE},
	{"res_rx_invalid_rkey", COUNTER_ERROR, REFUSED_HERE},
	{"res_rx_no_perm", COUNTER_ERROR, REFUSED_HERE},
	{"res_rx_range_err", COUNTER_ERROR, REFUSED_HERE},
	{"res_tx_invalid_rkey", COUNTER_ERROR, REFUSED_HERE},
	{"res_tx_no_perm", COUNTER_ERROR, REFUSED_HERE},
	{"res_tx_range_err", COUNTER_ERROR, REFUSED_HERE},

	/* hw/irdma/verbs.c; blanks as "_". iWARP sends again in TCP segments. */
	{"tcpRetransSegs", COUNTER_RETRANSMISSION, SENT_AGAIN},
	{"RetransSegs", COUNTER_RETRANSMISSION, SENT_AGAIN},
	{"RTO", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"Rcvd_Out_of_order_packets", COUNTER_OUT_OF_ORDER, GAP_HERE},
	{"Nak_Sequence_Error", COUNTER_OUT_OF_ORDER, GAP_THERE},
	{"Nak_Sequence_Error_Implied", COUNTER_OUT_OF_ORDER, GAP_IMPLIED},
	{"RNR_sent", COUNTER_RNR, NOT_READY},
	{"RNR_received", COUNTER_RNR, PEER_NOT_READY},
	{"cnpSent", COUNTER_CONGESTION, CNP_SENT},
	{"cnpHandled", COUNTER_CONGESTION, CNP_HANDLED},
	{"cnpIgnored", COUNTER_CONGESTION, CNP_IGNORED},
	{"RxECNMrkd", COUNTER_CONGESTION, ECN_MARKED},
	{"ip4InDiscards", COUNTER_CONGESTION, "this port dropped IPv4 packets that it received"},
	{"ip6InDiscards", COUNTER_CONGESTION, "this port dropped IPv6 packets that it received"},
	{"CRC_errors", COUNTER_LINK, DAMAGED},
	{"ip4OutNoRoutes", COUNTER_ERROR, "this host had no route to an IPv4 address"},
	{"ip6OutNoRoutes", COUNTER_ERROR, "this host had no route to an IPv6 address"},

	/* hw/cxgb4/provider.c */
	{"ip4RetransSegs", COUNTER_RETRANSMISSION, SENT_AGAIN},
	{"ip6RetransSegs", COUNTER_RETRANSMISSION, SENT_AGAIN},

	/* hw/hns/hns_roce_main.c */
	{"tx_cnp_pkt", COUNTER_CONGESTION, CNP_SENT},
	{"rx_cnp_pkt", COUNTER_CONGESTION, CNP_HANDLED},
	{"rx_err_pkt", COUNTER_LINK, "packets arrived with errors"},
	{"tx_err_pkt", COUNTER_LINK, "packets could not be sent"},

	/* hw/efa/efa_verbs.c; retrans_bytes counts the same in bytes */
	{"retrans_pkts", COUNTER_RETRANSMISSION, SENT_AGAIN},
	{"retrans_timeout_events", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"unresponsive_remote_events", COUNTER_RETRANSMISSION, "a peer did not answer any more"},
	{"impaired_remote_conn_events", COUNTER_CONGESTION, "a connection to a peer became bad"},
	{"rx_drops", COUNTER_CONGESTION, "this port dropped packets that it received"},
	{"rdma_read_wr_err", COUNTER_ERROR, "READs of this host failed"},
	{"rdma_write_wr_err", COUNTER_ERROR, "WRITEs of this host failed"},

	/* hw/mana/counters.c */
	{"requester_timeout", COUNTER_RETRANSMISSION, ACK_TIMEOUT},
	{"responder_dup_request", COUNTER_DUPLICATE, PEER_REPEATED},
	{"requester_oos_nak", COUNTER_OUT_OF_ORDER, GAP_THERE},
	{"responder_oos", COUNTER_OUT_OF_ORDER, GAP_HERE},
	{"requester_implicit_nak", COUNTER_OUT_OF_ORDER, GAP_IMPLIED},
	{"requester_rnr_nak", COUNTER_RNR, PEER_NOT_READY},
	{"responder_rnr_nak", COUNTER_RNR, NOT_READY},
	{"responder_rem_access_error", COUNTER_ERROR, REFUSED_HERE},

	/* A port's own counters: Documentation/ABI/stable/sysfs-class-infiniband */
	{"port_xmit_discards", COUNTER_CONGESTION,
		"packets were not sent because the port was down or congested"},
	{"port_xmit_wait", COUNTER_CONGESTION,
		"the port had data to send and had to wait (a time, in ticks of the device)"},
	{"VL15_dropped", COUNTER_CONGESTION, "the port had no room for management packets"},
	{"symbol_error", COUNTER_LINK, "the link had small faults: check cable and connectors"},
	{"link_error_recovery", COUNTER_LINK, "the link failed and recovered: check the cable"},
	{"port_rcv_errors", COUNTER_LINK, "packets arrived with errors"},
	{"port_rcv_remote_physical_errors", COUNTER_LINK,
		"packets arrived that were marked as damaged on their way"},
	{"port_rcv_switch_relay_errors", COUNTER_LINK, "packets were dropped that had no way on"},
	{"port_rcv_constraint_errors", COUNTER_LINK,
		"a switch port refused packets that came in: filter or partition"},
	{"port_xmit_constraint_errors", COUNTER_LINK,
		"a switch port refused packets to send: filter or partition"},
	{"local_link_integrity_errors", COUNTER_LINK,
		"the link had more faults than the port puts up with"},
	{"excessive_buffer_overrun_errors", COUNTER_LINK,
		"the port's buffers ran over: wrong settings or a bad link"},
};

const struct counter_meaning *counter_row(size_t index)
{
	return index < COUNT(rows) ? &rows[index] : NULL;
}

const struct counter_meaning *counter_meaning(const char *name)
{
	static const char virtual_port[] = "vport_";

	if (strncmp(name, virtual_port, strlen(virtual_port)) == 0)
		name += strlen(virtual_port);
	for (size_t i = 0; i < COUNT(rows); i++)
		/* Nearly all differ in their first letter already. */
		if (rows[i].name[0] == name[0] && strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}
