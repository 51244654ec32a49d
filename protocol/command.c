/* Encodes and decodes the commands and replies of a diagnosis or a measurement. */
#include <errno.h>
#include <string.h>

#include "protocol/command.h"
#include "protocol/little-endian.h"

/* Byte offsets. */
enum {
	AT_TYPE = 0,
	AT_REPLY = 2,
	AT_NUMBER = 4,
	AT_STATUS = 8,
	AT_ADDRESS = 16,
	AT_LENGTH = 24,
	AT_RKEY = 28,
};

size_t command_encode(const struct command *message, uint8_t buffer[COMMAND_MAX])
{
	memset(buffer, 0, COMMAND_SIZE);
	le_put16(buffer + AT_TYPE, (uint16_t)message->type);
	le_put16(buffer + AT_REPLY, message->reply);
	le_put32(buffer + AT_NUMBER, message->number);
	le_put32(buffer + AT_STATUS, message->status);
	le_put64(buffer + AT_ADDRESS, message->address);
	le_put32(buffer + AT_LENGTH, message->length);
	le_put32(buffer + AT_RKEY, message->rkey);
	if (message->text_size > 0)
		memcpy(buffer + COMMAND_SIZE, message->text, message->text_size);
	return COMMAND_SIZE + (size_t)message->text_size;
}

static bool type_is_known(uint16_t type)
{
	return type <= COMMAND_COUNTERS || (type >= COMMAND_PROOF && type < COMMAND_TYPES);
}

static bool status_is_known(uint32_t status)
{
	return status == COMMAND_DONE || status == COMMAND_FAILED || status == COMMAND_REFUSED;
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
	reply = le_get16(bytes + AT_REPLY);
	*message = (struct command){
		.type = (enum command_type)type,
		.reply = reply == 1,
		.number = le_get32(bytes + AT_NUMBER),
		.status = (enum command_status)le_get32(bytes + AT_STATUS),
		.address = le_get64(bytes + AT_ADDRESS),
		.length = le_get32(bytes + AT_LENGTH),
		.rkey = le_get32(bytes + AT_RKEY),
		.text_size = (uint16_t)(length - COMMAND_SIZE),
		.text = (const char *)bytes + COMMAND_SIZE,
	};
	if (!type_is_known(type) || reply > 1 || !status_is_known(message->status))
		return -EPROTO;
	/* Only a successful reply has a region; a command always has one, whatever its status. */
	if (type == COMMAND_REGION && (!message->reply || message->status == COMMAND_DONE) &&
		!region_is_possible(message))
		return -EPROTO;
	return 0;
}
