#include <errno.h>
#include <string.h>

#include "message.h"
#include "wire.h"

/* Byte offsets. The tutorial's programs know those of type, address, length and rkey. */
enum {
	AT_TYPE = 0,
	AT_VERDICT = 4,
	AT_DIGEST = 8,
	AT_ADDRESS = 24,
	AT_LENGTH = 32,
	AT_RKEY = 48,
};

void message_encode(const struct message *message, uint8_t buffer[MESSAGE_SIZE])
{
	memset(buffer, 0, MESSAGE_SIZE);
	wire_put32(buffer + AT_TYPE, message->type);
	switch (message->type) {
	case MSG_MR:
		wire_put64(buffer + AT_ADDRESS, message->address);
		wire_put64(buffer + AT_LENGTH, message->length);
		wire_put32(buffer + AT_RKEY, message->rkey);
		break;
	case MSG_DONE:
		memcpy(buffer + AT_DIGEST, message->digest.bytes, DIGEST_SIZE);
		wire_put64(buffer + AT_LENGTH, message->length);
		break;
	case MSG_VERDICT:
		wire_put32(buffer + AT_VERDICT, message->verdict);
		break;
	case MSG_TYPES:
		break;
	}
}

int message_decode(struct message *message, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	memset(message, 0, sizeof(*message));
	if (length != MESSAGE_SIZE)
		return -EMSGSIZE;
	message->type = wire_get32(bytes + AT_TYPE);
	switch (message->type) {
	case MSG_MR:
		message->address = wire_get64(bytes + AT_ADDRESS);
		message->length = wire_get64(bytes + AT_LENGTH);
		message->rkey = wire_get32(bytes + AT_RKEY);
		if (message->length == 0 || message->length - 1 > UINT64_MAX - message->address)
			return -EPROTO;
		return 0;
	case MSG_DONE:
		memcpy(message->digest.bytes, bytes + AT_DIGEST, DIGEST_SIZE);
		message->length = wire_get64(bytes + AT_LENGTH);
		return 0;
	case MSG_VERDICT:
		message->verdict = wire_get32(bytes + AT_VERDICT);
		return message->verdict > VERDICT_DAMAGED ? -EPROTO : 0;
	default:
		return -EPROTO;
	}
}

const char *message_name(unsigned int type)
{
	static const char *const names[MSG_TYPES] = {
		[MSG_MR] = "MSG_MR",
		[MSG_DONE] = "MSG_DONE",
		[MSG_VERDICT] = "MSG_VERDICT",
	};

	return type < MSG_TYPES ? names[type] : "an unknown message";
}
