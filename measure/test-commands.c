/* The client's commands around a test: queue pairs, begin, end. */
#include <errno.h>

#include "measure/test-commands.h"

int test_commands_queue_pairs(
	struct control *control, struct perf_test *test, uint32_t count, deadline_t deadline)
{
	uint8_t numbers[4 * TEST_QUEUE_PAIRS_MAX];
	struct command command = {.type = COMMAND_QUEUE_PAIRS, .text = (char *)numbers}, reply;

	if (perf_test_make_queue_pairs(test, count))
		return -1;
	command.text_size = (uint16_t)perf_test_encode_numbers(test, numbers);
	return control_client_command(control, &command, &reply, deadline) ||
			       perf_test_connect_queue_pairs(test, reply.text, reply.text_size)
		       ? -1
		       : 0;
}

int test_commands_begin(struct control *control, struct perf_test *test,
	const struct test_parameters *parameters, int64_t timeout)
{
	uint8_t text[TEST_PARAMETERS_SIZE];
	struct command command = {.type = COMMAND_BEGIN,
			       .text = (char *)text,
			       .text_size = TEST_PARAMETERS_SIZE},
		       reply;

	test_parameters_encode(parameters, text);
	test_run_begin(test, parameters, timeout);
	return control_client_command(control, &command, &reply, deadline_in(timeout));
}

int test_commands_end(struct control *control, struct test_result *theirs, deadline_t deadline)
{
	struct command command = {.type = COMMAND_END}, reply;

	if (control_client_command(control, &command, &reply, deadline))
		return -1;
	if (test_result_decode(theirs, reply.text, reply.text_size) == 0)
		return 0;
	return failure_protocol(
		&control->failure, "test_result_decode", "what it says of the run makes no sense");
}
