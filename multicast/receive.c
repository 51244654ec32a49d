/*
 * Receives datagrams and counts them by stream: see multicast/receive.h. A stream ends with the
 * datagram that says so, which its sender repeats, or if nothing of it arrives for --timeout. The
 * end may overtake other datagrams: while some are missing, the receiver waits for them.
 *
 * Each datagram says how long ago its stream began. If that was before this receiver joined the
 * group, what is missing before the first datagram is not lost: it was sent before.
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

/* How long a stream that has ended waits for missing datagrams after the last one, milliseconds. */
#define SETTLE_MS 1000

/* Streams that are over or ignored, of which datagrams may still arrive. */
#define CLOSED_MAX 1024

/* Completions that are taken at a time. */
#define BATCH 64

struct stream {
	uint64_t id; /* of its datagrams */
	bool used, ended;
	struct tally tally;
	uint64_t damaged;
	uint32_t size;    /* of its largest datagram */
	deadline_t began; /* according to the times in its datagrams, when the first was sent */
	deadline_t first, newest, last; /* arrivals: the first, of a new number, of anything */
	deadline_t end;                 /* its end arrived */
	char sender[ADDRESS_TEXT_SIZE];
};

struct closed_stream {
	uint64_t id;
	bool ignored; /* there was no room for it */
};

struct receiver {
	const struct options *options;
	struct output output;
	struct group group;
	struct stream streams[STREAMS_MAX];
	struct closed_stream closed[CLOSED_MAX]; /* a ring */
	size_t closed_count;
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

static void close_stream(struct receiver *receiver, uint64_t id, bool ignored)
{
	receiver->closed[receiver->closed_count++ % CLOSED_MAX] =
		(struct closed_stream){.id = id, .ignored = ignored};
}

/* Returns the stream if it is over or ignored, or NULL. */
static const struct closed_stream *closed_stream_of(const struct receiver *receiver, uint64_t id)
{
	for (size_t i = 0; i < CLOSED_MAX && i < receiver->closed_count; i++)
		if (receiver->closed[i].id == id)
			return &receiver->closed[i];
	return NULL;
}

/* Starts a stream in this place. Returns it; or NULL if it is ignored: no place or memory. */
static struct stream *start_stream(struct receiver *receiver, struct stream *place,
	const struct datagram *datagram, const uint8_t *grh)
{
	const deadline_t now = deadline_now();

	if (place)
		*place = (struct stream){.id = datagram->stream,
			.began = now - datagram->elapsed,
			.first = now,
			.newest = now};
	if (!place || tally_begin(&place->tally, datagram->count)) {
		close_stream(receiver, datagram->stream, true);
		receiver->further++;
		return NULL;
	}
	place->used = true;
	sender_of(grh, place->sender);
	return place;
}

/* Returns the stream of this datagram, a new one if necessary, or NULL. */
static struct stream *stream_of(
	struct receiver *receiver, const struct datagram *datagram, const uint8_t *grh)
{
	const struct closed_stream *closed;
	struct stream *unused = NULL;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &receiver->streams[i];

		if (stream->used && stream->id == datagram->stream)
			return stream->tally.count == datagram->count ? stream : NULL;
		if (!stream->used)
			unused = stream;
	}
	closed = closed_stream_of(receiver, datagram->stream);
	if (!closed)
		return start_stream(receiver, unused, datagram, grh);
	receiver->further += closed->ignored;
	return NULL;
}

/* The number of datagrams that were sent before this receiver joined, or on their way then. */
static uint64_t sent_before(const struct receiver *receiver, const struct stream *stream)
{
	const struct tally *tally = &stream->tally;

	if (stream->began >= receiver->group.since)
		return 0;
	return tally->received > 0 ? tally->first : tally->sent;
}

/* The number of datagrams after the last one that arrived, which may not have been sent. */
static uint64_t unknown_after(const struct stream *stream)
{
	return stream->ended ? 0 : stream->tally.sent - stream->tally.next;
}

static uint64_t lost(const struct receiver *receiver, const struct stream *stream)
{
	return tally_missing(&stream->tally) - sent_before(receiver, stream) -
	       unknown_after(stream);
}

/* Writes what is unusual about the stream: ", damaged 1; its end did not arrive", or "". */
static void describe(
	const struct receiver *receiver, const struct stream *stream, char *text, size_t size)
{
	const struct tally *tally = &stream->tally;
	const uint64_t before = sent_before(receiver, stream);
	char count[UNITS_TEXT];

	*text = '\0';
	if (stream->damaged > 0)
		text_append(text, size, ", damaged %" PRIu64, stream->damaged);
	if (before > 0)
		text_append(text, size, "; sent before this receiver joined: %s",
			units_format_count(count, before));
	if (tally->sent < tally->count)
		text_append(text, size, "; its sender was interrupted before the other %s",
			units_format_count(count, tally->count - tally->sent));
	if (unknown_after(stream) > 0)
		text_append(text, size, "; the last %s and the end did not arrive",
			units_format_count(count, unknown_after(stream)));
	else if (!stream->ended)
		text_append(text, size, "; its end did not arrive");
}

static void report(struct receiver *receiver, struct stream *stream)
{
	const struct tally *tally = &stream->tally;
	char received[UNITS_TEXT], sent[UNITS_TEXT], span[UNITS_TEXT], missing[UNITS_TEXT],
		more[256];
	const bool incomplete = lost(receiver, stream) + unknown_after(stream) > 0;
	enum exit_status status = stream->damaged ? STATUS_DAMAGED
				  : incomplete    ? STATUS_PEER
						  : STATUS_OK;

	describe(receiver, stream, more, sizeof(more));
	output_line(&receiver->output,
		"from %s: received %s of %s datagram%s of up to %u bytes in %s; lost %s"
		", duplicated %" PRIu64 ", reordered %" PRIu64 "%s.",
		stream->sender, units_format_count(received, tally->received),
		units_format_count(sent, tally->sent), tally->sent > 1 ? "s" : "", stream->size,
		units_format_duration(span, stream->newest - stream->first),
		units_format_count(missing, lost(receiver, stream)), tally->duplicated,
		tally->reordered, more);
	if (receiver->first_error == STATUS_OK)
		receiver->first_error = status;
	receiver->reported++;
}

/* Reports a stream, unless all of it was sent before this receiver joined, and forgets it. */
static void finish(struct receiver *receiver, struct stream *stream)
{
	if (sent_before(receiver, stream) < stream->tally.sent)
		report(receiver, stream);
	close_stream(receiver, stream->id, false);
	tally_end(&stream->tally);
	stream->used = false;
}

/* Takes the end of a stream, which says how many datagrams were sent. */
static void take_end(
	struct receiver *receiver, struct stream *stream, const struct datagram *datagram)
{
	if (stream->ended || !tally_set_sent(&stream->tally, datagram->number))
		return;
	stream->ended = true;
	stream->end = stream->last;
	if (lost(receiver, stream) == 0)
		finish(receiver, stream);
}

/* Checks and prints the payload of a datagram. */
static void take_payload(struct receiver *receiver, struct stream *stream,
	const struct datagram *datagram, const uint8_t *payload, uint32_t size)
{
	char text[TEXT_ESCAPED_SIZE(DATAGRAM_TEXT_MAX)];

	if (datagram->text) {
		text_escape_utf8(text, (const char *)payload,
			size < DATAGRAM_TEXT_MAX ? size : DATAGRAM_TEXT_MAX);
		output_line(&receiver->output, "message from %s: %s", stream->sender, text);
	} else if (pattern_check(payload, size, datagram->number) != size) {
		stream->damaged++;
	}
}

/* Counts a datagram of `size` bytes, which follow its global route header. */
static void take_datagram(struct receiver *receiver, const uint8_t *slot, uint32_t size)
{
	const uint8_t *bytes = slot + GROUP_GRH;
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
	if (stream->last - datagram.elapsed < stream->began)
		stream->began = stream->last - datagram.elapsed;
	if (datagram.end) {
		take_end(receiver, stream, &datagram);
		return;
	}
	if (size > stream->size)
		stream->size = size;
	if (!tally_take(&stream->tally, datagram.number))
		return;
	stream->newest = stream->last;
	take_payload(receiver, stream, &datagram, bytes + DATAGRAM_HEADER, size - DATAGRAM_HEADER);
	if (stream->ended && lost(receiver, stream) == 0)
		finish(receiver, stream);
}

/* When the stream is over unless more of it arrives. */
static deadline_t stream_deadline(const struct receiver *receiver, const struct stream *stream)
{
	const int64_t timeout = receiver->options->timeout;

	if (!stream->ended)
		return stream->last + timeout;
	return (stream->newest > stream->end ? stream->newest : stream->end) +
	       (timeout < SETTLE_MS ? timeout : SETTLE_MS);
}

/* Reports streams of which no more is expected, or all. Returns the time to the next deadline. */
static int end_silent(struct receiver *receiver, bool all)
{
	int next = -1;

	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *stream = &receiver->streams[i];
		int left;

		if (!stream->used)
			continue;
		left = deadline_left(stream_deadline(receiver, stream));
		if (left == 0 || all)
			finish(receiver, stream);
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
	return receiver.first_error;
}
