/* A transfer that is slow, one that stands still, and one whose packets are lost. */
#include "diagnose/transfer-progress.h"
#include "tests/unit/unit.h"

static void nothing_moves(void **state)
{
	struct transfer_progress progress = {0};

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_false(transfer_progress_record(&progress, 5, 7, i < 2));
}

static void a_packet_of_the_peer_is_progress(void **state)
{
	struct transfer_progress progress = {0};

	(void)state;
	assert_false(transfer_progress_record(&progress, 5, 0xffffff, true));
	assert_true(transfer_progress_record(&progress, 5, 0, true));
}

/* Without an acknowledgement, the packets 5 to 8 are sent again and again. */
static void packets_sent_again_are_no_progress(void **state)
{
	struct transfer_progress progress = {0};

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		assert_false(transfer_progress_record(&progress, 5 + (i + 2) % 4, 7, i < 6));
	assert_true(transfer_progress_record(&progress, 9, 7, false));
}

static void numbers_wrap_around(void **state)
{
	struct transfer_progress progress = {0};

	(void)state;
	assert_false(transfer_progress_record(&progress, 0xfffffe, 7, true));
	assert_false(transfer_progress_record(&progress, 0xffffff, 7, true));
	assert_false(transfer_progress_record(&progress, 0xfffffe, 7, false));
	assert_true(transfer_progress_record(&progress, 1, 7, false));
	assert_false(transfer_progress_record(&progress, 0xffffff, 7, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_moves),
		cmocka_unit_test(a_packet_of_the_peer_is_progress),
		cmocka_unit_test(packets_sent_again_are_no_progress),
		cmocka_unit_test(numbers_wrap_around),
	};

	return cmocka_run_group_tests_name("transfer-progress", tests, NULL, NULL);
}
