/* Accepted messages from a peer are in range, and survive encoding and decoding again. */
#include <errno.h>

#include "protocol/message.h"
#include "tests/fuzz/fuzz.h"

static bool is_possible(const struct message *message)
{
	if (message->type >= MSG_TYPES)
		return false;
	if (message->type == MSG_MR)
		return message->length > 0 &&
		       message->address + (message->length - 1) >= message->address;
	return message->type != MSG_VERDICT || message->verdict <= VERDICT_DAMAGED;
}

/* Each encoded byte is the received one, or zero if the message type does not use it. */
static void check_encoding(const struct message *message, const uint8_t *data, size_t size)
{
	uint8_t bytes[MESSAGE_MAX], bytes_again[MESSAGE_MAX];
	struct message again;

	fuzz_check(message_encode(message, bytes) == size);
	for (size_t i = 0; i < size; i++)
		fuzz_check(bytes[i] == data[i] || (i < MESSAGE_SIZE && bytes[i] == 0));
	fuzz_check(message_decode(&again, bytes, size) == 0);
	fuzz_check(again.type == message->type && message_encode(&again, bytes_again) == size);
	fuzz_check(memcmp(bytes, bytes_again, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message message;
	int error = message_decode(&message, data, size);
	const char *name = message_name(message.type);

	fuzz_check(error == 0 || error == -EMSGSIZE || error == -EPROTO);
	fuzz_check((size >= MESSAGE_SIZE && size <= MESSAGE_MAX) || error == -EMSGSIZE);
	fuzz_check(name && *name);
	if (error)
		return 0;
	fuzz_check(is_possible(&message));
	fuzz_check(message.text_size == size - MESSAGE_SIZE);
	check_encoding(&message, data, size);
	return 0;
}
