/*
 * Receives datagrams and counts them by stream: see multicast/receive.h. A stream ends with the
 * datagram that says so, which its sender repeats, or if nothing of it arrives for --timeout.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/address.h"
#include "base/explain.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/startup.h"
#include "multicast/group.h"
#include "multicast/receive.h"
#include "multicast/tally.h"
#include "protocol/datagram.h"
#include "protocol/test-pattern.h"

/* Datagrams for which memory is posted: what may arrive while this process does not run. */
#define SLOTS 1024

/* Streams at a time; more are ignored until one ends. */
#define STREAMS_MAX 16

/* Ended streams whose last datagrams may still arrive. */
#define ENDED_MAX 64

/* Completions that are taken at a time. */
#define BATCH 64

struct stream {
	uint64_t id; /* of its datagrams */
	bool used, ended;
	struct tally tally;
	uint64_t damaged;
	uint32_t size; /* of its largest datagram */
	deadline_t start, last;
	char sender[ADDRESS_TEXT_SIZE];
};

struct receiver {
	const struct options *options;
	struct output output;
	struct group group;
	struct stream streams[STREAMS_MAX];
	uint64_t ended[ENDED_MAX]; /* a ring */
	size_t ended_count;
	uint64_t reported, foreign, further;
	enum exit_status first_error;
	int signal;
};

/*
 * Writes the sender's address, from the global route header: that of IPv6 or of InfiniBand, or an
 * IPv4 header in its last 20 bytes. InfiniBand specification, annex A17 (RoCE v2).
 */
static void sender_of(const uint8_t grh[GROUP_GRH], char text[ADDRESS_TEXT_SIZE])
{
	const uint8_t *v4 = grh + 20;

	if (grh[0] >> 4 == 6)
		inet_ntop(AF_INET6, grh + 8, text, ADDRESS_TEXT_SIZE);
	else if (v4[0] >> 4 == 4)
		inet_ntop(AF_INET, v4 + 12, text, ADDRESS_TEXT_SIZE);
	else
		snprintf(text, ADDRESS_TEXT_SIZE, "an unknown address");
}

static bool has_ended(const struct receiver *receiver, uint64_t id)
{
	for (size_t i = 0; i < ENDED_MAX && i < receiver->ended_count; i++)
		if (receiver->ended[i] == id)
			return true;
	return false;
}

/* Returns the stream of this datagram, a new one if necessary, or NULL. */
static struct stream *stream_of(
	struct receiver *receiver, const struct datagram *datagram, const uint8_t *grh)
{
	struct stream *unused = NULL;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &receiver->streams[i];

		if (stream->used && stream->id == datagram->stream)
			return stream->tally.count == datagram->count ? stream : NULL;
		if (!stream->used)
			unused = stream;
	}
	if (has_ended(receiver, datagram->stream))
		return NULL;
	if (!unused) {
		receiver->further++;
		return NULL;
	}
	*unused = (struct stream){.id = datagram->stream, .used = true, .start = deadline_now()};
	if (tally_begin(&unused->tally, datagram->count)) {
		unused->used = false;
		return NULL;
	}
	sender_of(grh, unused->sender);
	return unused;
}

static void report(struct receiver *receiver, struct stream *stream)
{
	const struct tally *tally = &stream->tally;
	char received[UNITS_TEXT], count[UNITS_TEXT], span[UNITS_TEXT], lost[UNITS_TEXT],
		damaged[64] = "";
	enum exit_status status = stream->damaged     ? STATUS_DAMAGED
				  : tally_lost(tally) ? STATUS_PEER
						      : STATUS_OK;

	if (stream->damaged)
		snprintf(damaged, sizeof(damaged), ", damaged %" PRIu64, stream->damaged);
	output_line(&receiver->output,
		"from %s: received %s of %s datagram%s of up to %u bytes in %s; lost %s"
		", duplicated %" PRIu64 ", reordered %" PRIu64 "%s%s.",
		stream->sender, units_format_count(received, tally->received),
		units_format_count(count, tally->count), tally->count > 1 ? "s" : "", stream->size,
		units_format_duration(span, stream->last - stream->start),
		units_format_count(lost, tally_lost(tally)), tally->duplicated, tally->reordered,
		damaged, stream->ended ? "" : "; its end did not arrive");
	if (receiver->first_error == STATUS_OK)
		receiver->first_error = status;
	receiver->ended[receiver->ended_count++ % ENDED_MAX] = stream->id;
	receiver->reported++;
	tally_end(&stream->tally);
	stream->used = false;
}

/* Counts a datagram of `size` bytes, which follow its global route header. */
static void take_datagram(struct receiver *receiver, const uint8_t *slot, uint32_t size)
{
	const uint8_t *bytes = slot + GROUP_GRH;
	char text[TEXT_ESCAPED_SIZE(DATAGRAM_TEXT_MAX)];
	struct datagram datagram;
	struct stream *stream;

	if (datagram_decode(&datagram, bytes, size)) {
		receiver->foreign++;
		return;
	}
	stream = stream_of(receiver, &datagram, slot);
	if (!stream)
		return;
	stream->last = deadline_now();
	if (datagram.end) {
		stream->ended = true;
		report(receiver, stream);
		return;
	}
	if (size > stream->size)
		stream->size = size;
	if (!tally_take(&stream->tally, datagram.number))
		return;
	bytes += DATAGRAM_HEADER;
	size -= DATAGRAM_HEADER;
	if (datagram.text) {
		text_escape_utf8(text, (const char *)bytes,
			size < DATAGRAM_TEXT_MAX ? size : DATAGRAM_TEXT_MAX);
		output_line(&receiver->output, "message from %s: %s", stream->sender, text);
	} else if (pattern_check(bytes, size, datagram.number) != size) {
		stream->damaged++;
	}
}

/* Reports streams of which nothing has arrived for --timeout, or all. Returns the next deadline. */
static int end_silent(struct receiver *receiver, bool all)
{
	int next = -1;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &receiver->streams[i];
		int left;

		if (!stream->used)
			continue;
		left = deadline_left(stream->last + receiver->options->timeout);
		if (left == 0 || all)
			report(receiver, stream);
		else if (next < 0 || left < next)
			next = left;
	}
	return next;
}

static bool is_done(const struct receiver *receiver)
{
	const uint64_t count = receiver->options->count;

	return receiver->signal != 0 || (count > 0 && receiver->reported >= count);
}

/*
 * Takes what has arrived, one batch. Returns how many completions it took: 0 when the completion
 * queue is empty; or -1 with the failure recorded.
 */
static int take_completions(struct receiver *receiver, struct failure *failure)
{
	struct group *group = &receiver->group;
	struct ibv_wc wcs[BATCH];
	int count = ibv_poll_cq(group->cq, BATCH, wcs);

	for (int i = 0; i < count && !is_done(receiver); i++) {
		unsigned int slot = (unsigned int)wcs[i].wr_id;

		if (wcs[i].status != IBV_WC_SUCCESS)
			return failure_set(failure, FAILURE_COMPLETION, PHASE_EXCHANGE,
				(int)wcs[i].status, "ibv_poll_cq", "");
		if (wcs[i].byte_len > GROUP_GRH)
			take_datagram(
				receiver, group_slot(group, slot), wcs[i].byte_len - GROUP_GRH);
		if (group_post_receive(group, slot))
			return failure_errno(failure, PHASE_EXCHANGE, "ibv_post_recv", EIO);
	}
	return count < 0 ? failure_errno(failure, PHASE_EXCHANGE, "ibv_poll_cq", EIO) : count;
}

/* Receives until a signal or the last stream. Returns 0, or -1 with the failure recorded. */
static int receive(struct receiver *receiver, int signals, struct failure *failure)
{
	struct group *group = &receiver->group;
	struct pollfd waiting[] = {{.fd = group->completions->fd, .events = POLLIN},
		{.fd = signals, .events = POLLIN}, {.fd = group->channel->fd, .events = POLLIN}};
	struct ibv_cq *cq;
	void *context;
	int taken;
	int left;

	while (!is_done(receiver)) {
		while (ibv_get_cq_event(group->completions, &cq, &context) == 0)
			ibv_ack_cq_events(cq, 1);
		if (ibv_req_notify_cq(group->cq, 0))
			return failure_errno(failure, PHASE_EXCHANGE, "ibv_req_notify_cq", EIO);
		taken = take_completions(receiver, failure);
		if (taken < 0)
			return -1;
		/* A stream is not silent as long as its datagrams may wait in the queue. */
		left = taken > 0 ? 0 : end_silent(receiver, false);
		if (is_done(receiver))
			break;
		poll(waiting, 3, left);
		if (waiting[1].revents)
			receiver->signal = signals_read(signals);
		if (waiting[2].revents && group_has_ended(group, failure))
			return -1;
	}
	return 0;
}

enum exit_status multicast_receive(const struct options *options, const char *program, int *signal)
{
	struct receiver receiver = {.options = options, .output = startup_output(program, options)};
	struct failure failure = {0};
	struct group_settings settings = {
		.name = options->host,
		.device = options->device,
		.source = options->bind,
		.output = &receiver.output,
		.stop_fd = signals_open(),
		.deadline = deadline_in(options->timeout),
		.slots = SLOTS,
		.receives = true,
	};
	char text[OUTPUT_FAILURE_SIZE];

	if (group_join(&receiver.group, &settings, &failure) == 0)
		receive(&receiver, settings.stop_fd, &failure);
	if (failure.kind == FAILURE_INTERRUPTED)
		receiver.signal = signals_read(settings.stop_fd);
	/* With --count, other streams go on without this receiver. */
	if (options->count == 0 || receiver.reported < options->count)
		end_silent(&receiver, true);
	if (receiver.foreign > 0)
		output_line(&receiver.output, "ignored %" PRIu64 " datagrams of other programs.",
			receiver.foreign);
	if (receiver.further > 0)
		output_line(&receiver.output,
			"ignored %" PRIu64 " datagrams of further streams: at most %d are counted "
			"at a time.",
			receiver.further, STREAMS_MAX);
	if (failure_is_set(&failure)) {
		output_outcome(&receiver.output, &failure, options->host, text);
		receiver.first_error = explain_status(&failure);
	}
	for (size_t i = 0; i < STREAMS_MAX; i++)
		tally_end(&receiver.streams[i].tally);
	group_leave(&receiver.group);
	if (settings.stop_fd >= 0)
		close(settings.stop_fd);
	*signal = receiver.signal;
	return output_finish(&receiver.output, receiver.first_error);
}
