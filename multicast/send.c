/*
 * Sends numbered datagrams at a steady rate: see multicast/send.h. The end of the stream is a
 * datagram of its own, which is repeated, because each may be lost. A signal ends the stream early;
 * the end then says how many datagrams were sent. A second signal sends its repetitions at once.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/explain.h"
#include "base/signals.h"
#include "base/units.h"
#include "cli/startup.h"
#include "multicast/group.h"
#include "multicast/send.h"
#include "protocol/datagram.h"
#include "protocol/test-pattern.h"

/* Datagrams in flight. */
#define SLOTS 64

/* The end is sent so often, at these intervals in milliseconds. */
#define ENDS    5
#define ENDS_MS 20

#define SECOND_NS      UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)

/*
 * What a sender that was held up sends at once: this many datagrams or, at high rates, what is due
 * in this time. The rest of the stream is that much later.
 */
#define BURST    4
#define BURST_NS MILLISECOND_NS

/*
 * A send that takes longer than this is waited for, a millisecond each time, and has failed after
 * this many, 2 seconds. Their number counts, because this process may have been stopped.
 */
#define SPIN_NS   MILLISECOND_NS
#define WAITS_MAX 2000

/* After a send has failed, how long the event that tells why may take. */
#define EVENT_NS (100 * MILLISECOND_NS)

struct sender {
	const struct options *options;
	struct output output;
	struct group group;
	struct datagram next;
	uint32_t size;         /* of a datagram, with its header */
	uint64_t posted, done; /* datagrams, with the ends */
	uint64_t start, span;  /* of the datagrams without the ends, nanoseconds */
	int stop_fd, signal;
};

/*
 * Waits until this time has passed or a signal arrives. Returns 0, or -1 with the failure recorded
 * if the device is removed or the group is lost.
 */
static int wait_for(struct sender *sender, uint64_t nanoseconds, struct failure *failure)
{
	struct pollfd waiting[] = {{.fd = sender->stop_fd, .events = POLLIN},
		{.fd = sender->group.channel->fd, .events = POLLIN}};
	const struct timespec time = {.tv_sec = (time_t)(nanoseconds / SECOND_NS),
		.tv_nsec = (long)(nanoseconds % SECOND_NS)};

	if (ppoll(waiting, 2, &time, NULL) <= 0)
		return 0;
	/* A second signal is left, so that nothing waits any longer. */
	if (waiting[0].revents && !sender->signal)
		sender->signal = signals_read(sender->stop_fd);
	return waiting[1].revents && group_has_ended(&sender->group, failure) ? -1 : 0;
}

/* Takes completions until this many sends are outstanding at most. Returns 0 or -1. */
static int complete(struct sender *sender, uint64_t outstanding, struct failure *failure)
{
	uint64_t since = clock_now_ns();
	unsigned int waits = 0;
	struct ibv_wc wc;
	int count;

	while (sender->posted - sender->done > outstanding) {
		count = ibv_poll_cq(sender->group.cq, 1, &wc);
		if (count < 0 || (count > 0 && wc.status != IBV_WC_SUCCESS)) {
			wait_for(sender, EVENT_NS, failure);
			return failure_set(failure, FAILURE_COMPLETION, PHASE_EXCHANGE,
				count < 0 ? 0 : (int)wc.status, "ibv_poll_cq", "");
		}
		sender->done += (uint64_t)count;
		if (count > 0) {
			since = clock_now_ns();
			waits = 0;
		}
		if (count > 0 || clock_now_ns() - since < SPIN_NS)
			continue;
		if (waits++ == WAITS_MAX)
			return failure_set(failure, FAILURE_MULTICAST, PHASE_EXCHANGE, ETIMEDOUT,
				"ibv_poll_cq", "%" PRIu64 " datagrams are queued",
				sender->posted - sender->done);
		if (wait_for(sender, MILLISECOND_NS, failure))
			return -1;
	}
	return 0;
}

/* Sends the next datagram. Returns 0, or -1 with the failure recorded. */
static int post(struct sender *sender, struct failure *failure)
{
	const unsigned int slot = (unsigned int)(sender->posted % SLOTS);
	uint8_t *bytes = group_slot(&sender->group, slot), *payload = bytes + DATAGRAM_HEADER;
	const char *message = sender->options->message;
	uint32_t size = sender->next.end ? DATAGRAM_HEADER : sender->size;
	int error;

	if (complete(sender, SLOTS - 1, failure))
		return -1;
	sender->next.elapsed = (uint32_t)((clock_now_ns() - sender->start) / MILLISECOND_NS);
	datagram_encode(&sender->next, bytes);
	if (sender->next.text && !sender->next.end)
		memcpy(payload, message, size - DATAGRAM_HEADER);
	else if (!sender->next.end)
		pattern_fill(payload, size - DATAGRAM_HEADER, sender->next.number);
	error = group_post_send(&sender->group, slot, size);
	if (error) {
		wait_for(sender, EVENT_NS, failure);
		return failure_errno(failure, PHASE_EXCHANGE, "ibv_post_send", -error);
	}
	sender->posted++;
	return 0;
}

/* Sends the datagrams, until a signal. Returns 0, or -1 with the failure recorded. */
static int send_datagrams(struct sender *sender, struct failure *failure)
{
	const uint64_t interval = SECOND_NS / sender->options->multicast.rate;
	const uint64_t late = interval * (BURST - 1) > BURST_NS ? interval * (BURST - 1) : BURST_NS;
	struct datagram *next = &sender->next;
	uint64_t due = sender->start;

	for (; next->number < next->count; next->number++) {
		uint64_t time = clock_now_ns();

		if (time > due + late)
			due = time - late;
		/* Looks for events, too, which a sender that is late must not miss. */
		if ((time < due || next->number % SLOTS == 0) &&
			wait_for(sender, time < due ? due - time : 0, failure))
			return -1;
		if (sender->signal)
			break;
		due += interval;
		if (post(sender, failure))
			return -1;
	}
	return complete(sender, 0, failure);
}

/* Sends the end, if there is anything to end. Returns 0, or -1 with the failure recorded. */
static int send_end(struct sender *sender, struct failure *failure)
{
	sender->next.end = true;
	for (int i = 0; i < ENDS && sender->next.number > 0; i++)
		if (wait_for(sender, MILLISECOND_NS * ENDS_MS, failure) || post(sender, failure))
			return -1;
	if (complete(sender, 0, failure))
		return -1;
	return wait_for(sender, 0, failure);
}

/* Sends the stream and its end. Returns 0, or -1 with the failure recorded. */
static int send_stream(struct sender *sender, struct failure *failure)
{
	sender->start = clock_now_ns();
	if (send_datagrams(sender, failure))
		return -1;
	sender->span = clock_now_ns() - sender->start;
	if (send_end(sender, failure))
		return -1;
	if (sender->next.number < sender->next.count)
		return failure_set(failure, FAILURE_INTERRUPTED, PHASE_EXCHANGE, EINTR, "signal",
			"%" PRIu64 " datagrams were sent", sender->next.number);
	return 0;
}

/* Determines the size of the datagrams. Returns 0, or -1 with the failure recorded. */
static int choose_size(struct sender *sender, struct failure *failure)
{
	const struct options *options = sender->options;
	const uint64_t wanted = sender->next.text ? DATAGRAM_HEADER + strlen(options->message)
						  : options->multicast.size;

	sender->size = wanted > 0 ? (uint32_t)wanted : sender->group.mtu;
	return wanted <= sender->group.mtu
		       ? 0
		       : failure_set(failure, FAILURE_MULTICAST, PHASE_EXCHANGE, EMSGSIZE,
				 sender->next.text ? "--message" : "--size",
				 "%" PRIu64 " bytes with the header of %d, MTU %u", wanted,
				 DATAGRAM_HEADER, sender->group.mtu);
}

static void report(const struct sender *sender)
{
	char count[UNITS_TEXT], span[UNITS_TEXT];

	output_line(&sender->output, "sent %s datagram%s of %u bytes in %s.",
		units_format_count(count, sender->next.count), sender->next.count > 1 ? "s" : "",
		sender->size,
		units_format_duration(span, (int64_t)(sender->span / MILLISECOND_NS)));
}

enum exit_status multicast_send(const struct options *options, const char *program, int *signal)
{
	struct sender sender = {
		.options = options,
		.output = startup_output(program, options),
		.next = {.count = options->multicast.count, .text = options->message},
		.stop_fd = signals_open(),
	};
	struct failure failure = {0};
	struct group_settings settings = {
		.name = options->host,
		.device = options->device,
		.source = options->source,
		.output = &sender.output,
		.stop_fd = sender.stop_fd,
		.deadline = deadline_in(options->timeout),
		.slots = SLOTS,
	};
	char text[OUTPUT_FAILURE_SIZE];

	randombytes_buf(&sender.next.stream, sizeof(sender.next.stream));
	if (group_join(&sender.group, &settings, &failure) == 0 &&
		choose_size(&sender, &failure) == 0 && send_stream(&sender, &failure) == 0)
		report(&sender);
	if (failure.kind == FAILURE_INTERRUPTED && !sender.signal)
		sender.signal = signals_read(sender.stop_fd);
	output_outcome(&sender.output, &failure, options->host, text);
	group_leave(&sender.group);
	if (sender.stop_fd >= 0)
		close(sender.stop_fd);
	*signal = sender.signal;
	return output_finish(&sender.output, explain_status(&failure));
}
