/* Accepted commands and replies are in range, and encode to the same bytes again. */
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
	fuzz_check(command.type <= COMMAND_COUNTERS ||
		   (command.type >= COMMAND_PROOF && command.type < COMMAND_TYPES));
	fuzz_check(command.status == COMMAND_DONE || command.status == COMMAND_FAILED ||
		   command.status == COMMAND_REFUSED);
	fuzz_check(command.text_size == size - COMMAND_SIZE);
	fuzz_check(command.text == (const char *)data + COMMAND_SIZE);
	if (command.type == COMMAND_REGION && (!command.reply || command.status == COMMAND_DONE)) {
		fuzz_check(command.length > 0 && command.length <= COMMAND_REGION_MAX);
		fuzz_check(command.address + command.length >= command.address);
	}
	fuzz_check(command_encode(&command, bytes) == size);
	/* Bytes 12 to 15 and 32 to 63 are ignored. */
	fuzz_check(memcmp(bytes, data, 12) == 0 && memcmp(bytes + 16, data + 16, 16) == 0);
	fuzz_check(memcmp(bytes + COMMAND_SIZE, data + COMMAND_SIZE, size - COMMAND_SIZE) == 0);
	return 0;
}
