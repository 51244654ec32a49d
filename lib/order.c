#include <errno.h>
#include <string.h>

#include "order.h"
#include "wire.h"

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

size_t order_encode(const struct order *message, uint8_t buffer[ORDER_MAX])
{
	wire_put16(buffer + AT_TYPE, (uint16_t)message->type);
	wire_put16(buffer + AT_ANSWER, message->answer);
	wire_put32(buffer + AT_NUMBER, message->number);
	wire_put32(buffer + AT_STATUS, message->status);
	wire_put32(buffer + AT_CODE, message->code);
	wire_put64(buffer + AT_ADDRESS, message->address);
	wire_put32(buffer + AT_LENGTH, message->length);
	wire_put32(buffer + AT_RKEY, message->rkey);
	wire_put32(buffer + AT_SIZE, message->size);
	wire_put32(buffer + AT_MILLISECONDS, message->milliseconds);
	wire_put64(buffer + AT_SEED, message->seed);
	wire_put64(buffer + AT_OFFSET, message->offset);
	wire_put64(buffer + AT_NANOSECONDS, message->nanoseconds);
	if (message->text_size > 0)
		memcpy(buffer + ORDER_SIZE, message->text, message->text_size);
	return ORDER_SIZE + (size_t)message->text_size;
}

static bool region_is_possible(const struct order *message)
{
	return message->length > 0 && message->length <= ORDER_REGION_MAX &&
	       message->address <= UINT64_MAX - message->length;
}

int order_decode(struct order *message, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;
	uint16_t type, answer;

	if (length < ORDER_SIZE || length > ORDER_MAX)
		return -EMSGSIZE;
	type = wire_get16(bytes + AT_TYPE);
	answer = wire_get16(bytes + AT_ANSWER);
	*message = (struct order){
		.type = (enum order_type)type,
		.answer = answer == 1,
		.number = wire_get32(bytes + AT_NUMBER),
		.status = (enum order_status)wire_get32(bytes + AT_STATUS),
		.code = wire_get32(bytes + AT_CODE),
		.address = wire_get64(bytes + AT_ADDRESS),
		.length = wire_get32(bytes + AT_LENGTH),
		.rkey = wire_get32(bytes + AT_RKEY),
		.size = wire_get32(bytes + AT_SIZE),
		.milliseconds = wire_get32(bytes + AT_MILLISECONDS),
		.seed = wire_get64(bytes + AT_SEED),
		.offset = wire_get64(bytes + AT_OFFSET),
		.nanoseconds = wire_get64(bytes + AT_NANOSECONDS),
		.text_size = (uint16_t)(length - ORDER_SIZE),
		.text = (const char *)bytes + ORDER_SIZE,
	};
	if (type >= ORDER_TYPES || answer > 1 || message->status >= ORDER_STATUSES)
		return -EPROTO;
	/* An answer that refuses tells of none; an order has to, whatever its status says. */
	if (type == ORDER_REGION && (!message->answer || message->status == ORDER_DONE) &&
		!region_is_possible(message))
		return -EPROTO;
	return 0;
}
