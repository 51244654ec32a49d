#include <errno.h>
#include <string.h>

#include "protocol/command.h"
#include "protocol/little-endian.h"

/* Byte offsets. */
enum {
	AT_TYPE = 0,
	AT_ANSWER = 2,
	AT_NUMBER = 4,
	AT_STATUS = 8,
	AT_CODE = 12,
	AT_ADDRESS = 16,
	AT_LENGTH = 24,
	AT_RKEY = 28,
	AT_SIZE = 32,
	AT_MILLISECONDS = 36,
	AT_SEED = 40,
	AT_OFFSET = 48,
	AT_NANOSECONDS = 56,
};

size_t command_encode(const struct command *message, uint8_t buffer[COMMAND_MAX])
{
	le_put16(buffer + AT_TYPE, (uint16_t)message->type);
	le_put16(buffer + AT_ANSWER, message->reply);
	le_put32(buffer + AT_NUMBER, message->number);
	le_put32(buffer + AT_STATUS, message->status);
	le_put32(buffer + AT_CODE, message->code);
	le_put64(buffer + AT_ADDRESS, message->address);
	le_put32(buffer + AT_LENGTH, message->length);
	le_put32(buffer + AT_RKEY, message->rkey);
	le_put32(buffer + AT_SIZE, message->size);
	le_put32(buffer + AT_MILLISECONDS, message->milliseconds);
	le_put64(buffer + AT_SEED, message->seed);
	le_put64(buffer + AT_OFFSET, message->offset);
	le_put64(buffer + AT_NANOSECONDS, message->nanoseconds);
	if (message->text_size > 0)
		memcpy(buffer + COMMAND_SIZE, message->text, message->text_size);
	return COMMAND_SIZE + (size_t)message->text_size;
}

static bool region_is_possible(const struct command *message)
{
	return message->length > 0 && message->length <= COMMAND_REGION_MAX &&
	       message->address <= UINT64_MAX - message->length;
}

int command_decode(struct command *message, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;
	uint16_t type, reply;

	if (length < COMMAND_SIZE || length > COMMAND_MAX)
		return -EMSGSIZE;
	type = le_get16(bytes + AT_TYPE);
	reply = le_get16(bytes + AT_ANSWER);
	*message = (struct command){
		.type = (enum command_type)type,
		.reply = reply == 1,
		.number = le_get32(bytes + AT_NUMBER),
		.status = (enum command_status)le_get32(bytes + AT_STATUS),
		.code = le_get32(bytes + AT_CODE),
		.address = le_get64(bytes + AT_ADDRESS),
		.length = le_get32(bytes + AT_LENGTH),
		.rkey = le_get32(bytes + AT_RKEY),
		.size = le_get32(bytes + AT_SIZE),
		.milliseconds = le_get32(bytes + AT_MILLISECONDS),
		.seed = le_get64(bytes + AT_SEED),
		.offset = le_get64(bytes + AT_OFFSET),
		.nanoseconds = le_get64(bytes + AT_NANOSECONDS),
		.text_size = (uint16_t)(length - COMMAND_SIZE),
		.text = (const char *)bytes + COMMAND_SIZE,
	};
	if (type >= COMMAND_TYPES || reply > 1 || message->status >= COMMAND_STATUSES)
		return -EPROTO;
	/* An answer that refuses tells of none; an order has to, whatever its status says. */
	if (type == COMMAND_REGION && (!message->reply || message->status == COMMAND_DONE) &&
		!region_is_possible(message))
		return -EPROTO;
	return 0;
}
