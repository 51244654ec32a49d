/* Names and wire format of the operations that a diagnosis tries: see protocol/operations.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "protocol/little-endian.h"
#include "protocol/operations.h"

/* Byte offsets in an offer. */
enum {
	AT_WANTED = 0,
	AT_WINDOW_TYPE = 4,
	AT_ADDRESS = 8,
	AT_LENGTH = 16,
	AT_RKEY = 20,
	AT_WINDOW = 24,
	AT_QUEUES = 32,
	AT_PREPARED = 32 + 8 * 8,
};

/* Queue pair and packet sequence numbers have 24 bits. */
#define NUMBER_MAX 0xffffff

static const char *const names[OPERATIONS] = {
	[OPERATION_SEND] = "SEND",
	[OPERATION_SEND_IMMEDIATE] = "SEND with immediate",
	[OPERATION_WRITE_IMMEDIATE] = "WRITE with immediate",
	[OPERATION_EMPTY_WRITE] = "WRITE of 0 bytes",
	[OPERATION_EMPTY_READ] = "READ of 0 bytes",
	[OPERATION_EMPTY_SEND] = "SEND of 0 bytes",
	[OPERATION_GATHER] = "scatter and gather",
	[OPERATION_INLINE] = "inline data",
	[OPERATION_FENCE] = "fence after a READ",
	[OPERATION_FETCH_ADD] = "fetch-and-add",
	[OPERATION_COMPARE_SWAP] = "compare-and-swap",
	[OPERATION_SHARED_RECEIVE] = "shared receive queue",
	[OPERATION_WINDOW] = "memory window",
	[OPERATION_UNRELIABLE] = "unreliable connection",
	[OPERATION_DATAGRAM] = "datagram",
	[OPERATION_PATH] = "alternate path",
};

static const char *const lacks[OPERATION_LACKS] = {
	[LACK_NOTHING] = "unknown",
	[LACK_IMMEDIATE] = "iWARP has no immediate data",
	[LACK_PIECES] = "max_sge is less than 3",
	[LACK_INLINE] = "max_inline_data is 0",
	[LACK_ATOMICS] = "atomic_cap is IBV_ATOMIC_NONE",
	[LACK_SHARED] = "max_srq is 0",
	[LACK_WINDOWS] = "no IBV_DEVICE_MEM_WINDOW",
	[LACK_UNRELIABLE] = "no queue pairs of type UC",
	[LACK_DATAGRAMS] = "no queue pairs of type UD",
	[LACK_IWARP] = "iWARP has only reliable connections",
	[LACK_MIGRATION] = "no IBV_DEVICE_AUTO_PATH_MIG",
	[LACK_INFINIBAND] = "Linux has it on InfiniBand only",
	[LACK_CALL] = "libibverbs' driver does not have it",
};

static const char *const faults[OPERATION_FAULTS] = {
	[FAULT_NONE] = "unknown",
	[FAULT_CALL] = "libibverbs refused it",
	[FAULT_COMPLETION] = "completed with",
	[FAULT_LATE] = "did not complete in time",
	[FAULT_MISSING] = "nothing arrived",
	[FAULT_LENGTH] = "another number of bytes arrived",
	[FAULT_DATA] = "wrong bytes arrived",
	[FAULT_IMMEDIATE] = "wrong immediate data arrived",
	[FAULT_VALUE] = "wrong value",
	[FAULT_HEADER] = "no global route header arrived",
	[FAULT_OPEN] = "memory can be written after the window was invalidated",
	[FAULT_CONNECT] = "its own connection, at another port, was not made",
};

const char *operation_name(enum operation operation)
{
	return names[operation];
}

void operation_reason(const struct operation_result *result, char text[OPERATION_REASON])
{
	const char *side = result->there ? "other host" : "this host";

	text[0] = '\0';
	if (result->state == OPERATION_UNSUPPORTED)
		snprintf(text, OPERATION_REASON, "%s: %s", side, lacks[result->code]);
	else if (result->state == OPERATION_FAILED && result->code == FAULT_CALL)
		snprintf(text, OPERATION_REASON, "%s: %s: %s", side, faults[result->code],
			explain_name(FAILURE_ERRNO, result->detail));
	else if (result->state == OPERATION_FAILED && result->code == FAULT_COMPLETION)
		snprintf(text, OPERATION_REASON, "%s: %s %s", side, faults[result->code],
			explain_name(FAILURE_COMPLETION, result->detail));
	else if (result->state == OPERATION_FAILED)
		snprintf(text, OPERATION_REASON, "%s: %s", side, faults[result->code]);
}

void operations_results_encode(
	const struct operation_result results[OPERATIONS], uint8_t buffer[OPERATIONS_RESULTS_SIZE])
{
	memset(buffer, 0, OPERATIONS_RESULTS_SIZE);
	for (size_t i = 0; i < OPERATIONS; i++) {
		buffer[4 * i] = (uint8_t)results[i].state;
		buffer[4 * i + 1] = results[i].code;
		le_put16(buffer + 4 * i + 2, results[i].detail);
	}
}

/* True if the state has this code. */
static bool is_possible(unsigned int state, unsigned int code)
{
	if (state == OPERATION_UNSUPPORTED)
		return code < OPERATION_LACKS;
	if (state == OPERATION_FAILED)
		return code < OPERATION_FAULTS;
	return state < OPERATION_STATES && code == 0;
}

int operations_results_decode(
	struct operation_result results[OPERATIONS], const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	if (length != OPERATIONS_RESULTS_SIZE)
		return -EMSGSIZE;
	for (size_t i = 0; i < OPERATIONS; i++) {
		if (!is_possible(bytes[4 * i], bytes[4 * i + 1]))
			return -EPROTO;
		results[i] = (struct operation_result){
			.state = (enum operation_state)bytes[4 * i],
			.code = bytes[4 * i + 1],
			.detail = le_get16(bytes + 4 * i + 2),
			.there = true,
		};
	}
	return 0;
}

void operations_offer_encode(
	const struct operations_offer *offer, uint8_t buffer[OPERATIONS_OFFER_SIZE])
{
	memset(buffer, 0, OPERATIONS_OFFER_SIZE);
	le_put32(buffer + AT_WANTED, offer->wanted);
	le_put32(buffer + AT_WINDOW_TYPE, offer->window_type);
	le_put64(buffer + AT_ADDRESS, offer->address);
	le_put32(buffer + AT_LENGTH, offer->length);
	le_put32(buffer + AT_RKEY, offer->rkey);
	le_put32(buffer + AT_WINDOW, offer->window);
	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		le_put32(buffer + AT_QUEUES + 8 * i, offer->queues[i].number);
		le_put32(buffer + AT_QUEUES + 8 * i + 4, offer->queues[i].sequence);
	}
	operations_results_encode(offer->prepared, buffer + AT_PREPARED);
}

int operations_offer_decode(struct operations_offer *offer, const void *buffer, size_t length)
{
	const uint8_t *bytes = buffer;

	if (length != OPERATIONS_OFFER_SIZE)
		return -EMSGSIZE;
	*offer = (struct operations_offer){
		.wanted = le_get32(bytes + AT_WANTED),
		.window_type = le_get32(bytes + AT_WINDOW_TYPE),
		.address = le_get64(bytes + AT_ADDRESS),
		.length = le_get32(bytes + AT_LENGTH),
		.rkey = le_get32(bytes + AT_RKEY),
		.window = le_get32(bytes + AT_WINDOW),
	};
	if ((offer->wanted & ~OPERATIONS_ALL) || offer->window_type > 2 ||
		offer->address > UINT64_MAX - offer->length)
		return -EPROTO;
	for (size_t i = 0; i < OPERATION_QUEUES; i++) {
		offer->queues[i].number = le_get32(bytes + AT_QUEUES + 8 * i);
		offer->queues[i].sequence = le_get32(bytes + AT_QUEUES + 8 * i + 4);
		if (offer->queues[i].number > NUMBER_MAX || offer->queues[i].sequence > NUMBER_MAX)
			return -EPROTO;
	}
	return operations_results_decode(
		offer->prepared, bytes + AT_PREPARED, OPERATIONS_RESULTS_SIZE);
}
