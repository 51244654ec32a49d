/* The direction of loss, as the counters of both ends show it. */
#include <stdio.h>
#include <string.h>

#include "host/path-loss.h"
#include "tests/unit/unit.h"

/* Decodes lines "name value". */
static struct counters counted(const char *text)
{
	struct counters counters;

	assert_int_equal(counters_decode(text, strlen(text), &counters), 0);
	return counters;
}

static void each_end_sees_both_directions(void **state)
{
	static const struct {
		const char *ours, *theirs;
		uint64_t to, from;
	} cases[] = {
		{"", "", 0, 0},
		/* soft-RoCE: the responder finds a gap, and the requester receives its NAK. */
		{"rcvd_seq_err 7\n", "", 7, 0},
		{"out_of_seq_request 7\n", "", 0, 7},
		{"", "rcvd_seq_err 7\n", 0, 7},
		{"", "out_of_seq_request 7\n", 7, 0},
		{"rcvd_seq_err 3\n", "out_of_seq_request 4\n", 7, 0},
		{"out_of_seq_request 1\nrcvd_seq_err 2\n", "out_of_seq_request 4\nrcvd_seq_err 8\n",
			6, 9},
		/* mlx5, with another driver at the other end. */
		{"out_of_sequence 5\npacket_seq_err 6\n", "Nak_Sequence_Error 1\n", 6, 6},
		{"implied_nak_seq_err 2\n", "", 0, 2},
		/* Adaptive routing: most packets arrive out of order, and few or none are lost. */
		{"out_of_sequence 5000\n", "vport_out_of_sequence 70\n", 0, 0},
		{"out_of_sequence 5000\n", "local_ack_timeout_err 2\n", 0, 2},
		{"out_of_sequence 5000\n", "packet_seq_err 40\n", 0, 80},
		{"vport_packet_seq_err 2\n", "", 2, 0},
		/* Timeouts and duplicates show no direction. */
		{"completer_retry_err 9\nduplicate_request 9\n", "local_ack_timeout_err 9\n", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct counters ours = counted(cases[i].ours), theirs = counted(cases[i].theirs);
		struct path_loss loss = path_loss_of(&ours, &theirs);

		assert_int_equal(loss.to, cases[i].to);
		assert_int_equal(loss.from, cases[i].from);
	}
}

static void what_arrives_twice_was_not_lost(void **state)
{
	static const struct {
		const char *ours, *theirs;
		uint64_t total;
	} cases[] = {
		{"", "", 0},
		{"completer_retry_err 11\nduplicate_request 140\n",
			"completer_retry_err 10\nduplicate_request 139\n", 0},
		{"completer_retry_err 11\n", "duplicate_request 4\n", 7},
		{"duplicate_request 4\n", "completer_retry_err 11\n", 7},
		{"local_ack_timeout_err 3\n", "", 3},
		{"out_of_sequence 5000\n", "out_of_sequence 3000\n", 0},
		{"out_of_sequence 5000\n", "out_of_sequence 3000\nlocal_ack_timeout_err 1\n", 3},
		{"out_of_sequence 40\n", "packet_seq_err 41\n", 81},
		{"completer_retry_err 2\nrcvd_seq_err 5\n",
			"out_of_seq_request 5\nduplicate_request 9\n", 10},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct counters ours = counted(cases[i].ours), theirs = counted(cases[i].theirs);

		assert_int_equal(path_loss_total(&ours, &theirs), cases[i].total);
	}
}

static void a_direction_is_named_if_it_is_clear(void **state)
{
	static const struct {
		struct path_loss loss;
		enum impairment impairment;
	} cases[] = {
		{{0, 0}, IMPAIRED_LOSS},
		{{1, 0}, IMPAIRED_LOSS_TO},
		{{0, 1}, IMPAIRED_LOSS_FROM},
		{{100, 25}, IMPAIRED_LOSS_TO},
		{{100, 26}, IMPAIRED_LOSS},
		{{25, 100}, IMPAIRED_LOSS_FROM},
		{{26, 100}, IMPAIRED_LOSS},
		{{100, 100}, IMPAIRED_LOSS},
		{{UINT64_MAX, UINT64_MAX}, IMPAIRED_LOSS},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(path_loss_impairment(&cases[i].loss), cases[i].impairment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_sees_both_directions),
		cmocka_unit_test(what_arrives_twice_was_not_lost),
		cmocka_unit_test(a_direction_is_named_if_it_is_clear),
	};

	return cmocka_run_group_tests_name("path-loss", tests, NULL, NULL);
}
