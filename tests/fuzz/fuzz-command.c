/* Orders of a diagnosis and their answers: what is taken is in range, and is sent again as it came. */
#include <errno.h>

#include "protocol/command.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct command command;
	uint8_t bytes[COMMAND_MAX];
	int error = command_decode(&command, data, size);

	fuzz_check(error == 0 || error == -EMSGSIZE || error == -EPROTO);
	fuzz_check((error == -EMSGSIZE) == (size < COMMAND_SIZE || size > COMMAND_MAX));
	if (error)
		return 0;
	fuzz_check(command.type < COMMAND_TYPES && command.status < COMMAND_STATUSES);
	fuzz_check(command.text_size == size - COMMAND_SIZE);
	fuzz_check(command.text == (const char *)data + COMMAND_SIZE);
	if (command.type == COMMAND_REGION && (!command.reply || command.status == COMMAND_DONE)) {
		fuzz_check(command.length > 0 && command.length <= COMMAND_REGION_MAX);
		fuzz_check(command.address + command.length >= command.address);
	}
	fuzz_check(command_encode(&command, bytes) == size);
	fuzz_check(memcmp(bytes, data, size) == 0);
	return 0;
}
