/* The counters that `diagnose --watch` reports. tests/one-host/watch.bats tests the rest. */
#include <string.h>

#include "diagnose/watch.h"
#include "tests/unit/unit.h"

static void only_counters_that_show_a_fault_are_reported(void **state)
{
	static const struct {
		const char *increase;
		bool fault;
	} cases[] = {
		{"", false},
		{"rx_write_requests 9\n", false},
		/* DCQCN, adaptive routing, busy hosts */
		{"np_cnp_sent 3\nnp_ecn_marked_roce_packets 5\nrp_cnp_handled 4\n", false},
		{"port_xmit_wait 700\n", false},
		{"out_of_sequence 5000\n", false},
		{"duplicate_request 3\n", false},
		{"rnr_nak_retry_err 2\n", false},
		/* lost packets */
		{"local_ack_timeout_err 1\n", true},
		{"completer_retry_err 1\n", true},
		{"out_of_sequence 5000\npacket_seq_err 1\n", true},
		{"out_of_seq_request 1\n", true},
		/* the link, and work requests */
		{"link_downed 1\n", true},
		{"resp_remote_access_errors 1\n", true},
	};
	struct counters increase;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *text = cases[i].increase;

		assert_int_equal(counters_decode(text, strlen(text), &increase), 0);
		assert_int_equal(watch_is_fault(&increase), cases[i].fault);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_counters_that_show_a_fault_are_reported),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
