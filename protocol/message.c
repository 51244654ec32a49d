/*
 * Encodes and decodes control messages field by field. Received messages are validated here, once.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "protocol/little-endian.h"
#include "protocol/message.h"

/* Byte offsets. Those of type, address, length and rkey match the tutorial's. */
enum {
	AT_TYPE = 0,
	AT_VERDICT = 4,
	AT_REFUSAL = 4,
	AT_KEPT = 4,
	AT_HOLES = 4,
	AT_DIGEST = 8,
	AT_ADDRESS = 24,
	AT_PROOF = 24,
	AT_DEVICE = 24,
	AT_LENGTH = 32,
	AT_PIECES = 40,
	AT_STORAGE = 40,
	AT_RKEY = 48,
	AT_DEPTH = 52,
	AT_TEXT = 56,
};

static bool may_have_text(enum message_type type)
{
	return type == MSG_MR || type == MSG_ABORT;
}

size_t message_encode(const struct message *message, uint8_t buffer[MESSAGE_MAX])
{
	memset(buffer, 0, MESSAGE_SIZE);
	le_put32(buffer + AT_TYPE, message->type);
	switch (message->type) {
	case MSG_MR:
		le_put64(buffer + AT_ADDRESS, message->address);
		le_put64(buffer + AT_LENGTH, message->length);
		le_put32(buffer + AT_RKEY, message->rkey);
		le_put32(buffer + AT_DEPTH, message->depth);
		le_put64(buffer + AT_STORAGE, message->storage);
		le_put32(buffer + AT_KEPT, message->kept);
		break;
	case MSG_DONE:
		memcpy(buffer + AT_DIGEST, message->digest.bytes, DIGEST_SIZE);
		le_put64(buffer + AT_LENGTH, message->length);
		break;
	case MSG_HAVE:
		memcpy(buffer + AT_DIGEST, message->digest.bytes, DIGEST_SIZE);
		le_put64(buffer + AT_LENGTH, message->length);
		le_put32(buffer + AT_HOLES, message->holes);
		break;
	case MSG_VERDICT:
		le_put32(buffer + AT_VERDICT, message->verdict);
		memcpy(buffer + AT_DIGEST, message->digest.bytes, DIGEST_SIZE);
		memcpy(buffer + AT_DEVICE, message->device,
			strnlen(message->device, MESSAGE_DEVICE_SIZE - 1));
		break;
	case MSG_DATA:
		le_put64(buffer + AT_LENGTH, message->length);
		break;
	case MSG_START:
		le_put64(buffer + AT_LENGTH, message->length);
		le_put32(buffer + AT_HOLES, message->holes);
		break;
	case MSG_CREDIT:
		le_put64(buffer + AT_LENGTH, message->length);
		le_put64(buffer + AT_PIECES, message->pieces);
		break;
	case MSG_ABORT:
		le_put32(buffer + AT_REFUSAL, message->refusal);
		break;
	case MSG_PROOF:
		memcpy(buffer + AT_PROOF, message->proof, SECRET_PROOF_SIZE);
		break;
	}
	if (!may_have_text(message->type))
		return MESSAGE_SIZE;
	memcpy(buffer + AT_TEXT, message->text, message->text_size);
	return MESSAGE_SIZE + (size_t)message->text_size;
}

/* Decodes the fields of the message's type. Returns 0 or -EPROTO. */
static int decode_fields(struct message *message, const uint8_t *bytes)
{
	switch (message->type) {
	case MSG_MR:
		message->address = le_get64(bytes + AT_ADDRESS);
		message->length = le_get64(bytes + AT_LENGTH);
		message->rkey = le_get32(bytes + AT_RKEY);
		message->depth = le_get32(bytes + AT_DEPTH);
		message->storage = le_get64(bytes + AT_STORAGE);
		message->kept = le_get32(bytes + AT_KEPT);
		if (message->length == 0 || message->length - 1 > UINT64_MAX - message->address)
			return -EPROTO;
		return 0;
	case MSG_HAVE:
		message->holes = le_get32(bytes + AT_HOLES) & 1;
		/* fall through */
	case MSG_DONE:
		memcpy(message->digest.bytes, bytes + AT_DIGEST, DIGEST_SIZE);
		message->length = le_get64(bytes + AT_LENGTH);
		return 0;
	case MSG_VERDICT:
		message->verdict = le_get32(bytes + AT_VERDICT);
		memcpy(message->digest.bytes, bytes + AT_DIGEST, DIGEST_SIZE);
		memcpy(message->device, bytes + AT_DEVICE, MESSAGE_DEVICE_SIZE - 1);
		return message->verdict > VERDICT_INCOMPLETE ? -EPROTO : 0;
	case MSG_START:
		message->holes = le_get32(bytes + AT_HOLES) & 1;
		/* fall through */
	case MSG_DATA:
		message->length = le_get64(bytes + AT_LENGTH);
		return 0;
	case MSG_CREDIT:
		message->length = le_get64(bytes + AT_LENGTH);
		message->pieces = le_get64(bytes + AT_PIECES);
		return 0;
	case MSG_ABORT:
		message->refusal = le_get32(bytes + AT_REFUSAL);
		return 0;
	case MSG_PROOF:
		memcpy(message->proof, bytes + AT_PROOF, SECRET_PROOF_SIZE);
		return 0;
	}
	return -EPROTO;
}

int message_decode(struct message *message, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	memset(message, 0, sizeof(*message));
	if (length < MESSAGE_SIZE || length > MESSAGE_MAX)
		return -EMSGSIZE;
	message->type = le_get32(bytes + AT_TYPE);
	if (length > MESSAGE_SIZE && message->type < MSG_TYPES && !may_have_text(message->type))
		return -EMSGSIZE;
	message->text_size = (uint8_t)(length - MESSAGE_SIZE);
	memcpy(message->text, bytes + AT_TEXT, message->text_size);
	return decode_fields(message, bytes);
}

void message_set_text(struct message *message, const char *text)
{
	message->text_size = (uint8_t)strnlen(text, MESSAGE_TEXT_MAX);
	memcpy(message->text, text, message->text_size);
}

const char *message_name(unsigned int type)
{
	static const char *const names[MSG_TYPES] = {
		[MSG_MR] = "MSG_MR",
		[MSG_DONE] = "MSG_DONE",
		[MSG_VERDICT] = "MSG_VERDICT",
		[MSG_DATA] = "MSG_DATA",
		[MSG_CREDIT] = "MSG_CREDIT",
		[MSG_ABORT] = "MSG_ABORT",
		[MSG_PROOF] = "MSG_PROOF",
		[MSG_HAVE] = "MSG_HAVE",
		[MSG_START] = "MSG_START",
	};

	return type < MSG_TYPES ? names[type] : "an unknown message";
}
