/*
 * What a connection reports of its exchange: its progress while it runs, and the report when it is over.
 * The connection owns everything that the report refers to.
 */
#include <string.h>

#include "exchange/connection.h"
#include "exchange/internal.h"
#include "exchange/report.h"

void connection_progress(struct connection *connection, uint64_t *bytes, uint64_t *total)
{
	uint64_t ours = source_size(connection->source), theirs = connection->theirs.size;

	*bytes = atomic_load_explicit(&connection->sent_bytes, memory_order_relaxed) +
		 atomic_load_explicit(&connection->received_bytes, memory_order_relaxed);
	*total = ours == STREAM_SIZE_UNKNOWN || theirs == STREAM_SIZE_UNKNOWN ? STREAM_SIZE_UNKNOWN
									      : ours + theirs;
}

deadline_t connection_last_progress(struct connection *connection)
{
	struct ring_level out = ring_level(&connection->outgoing_ring);
	struct ring_level in = ring_level(&connection->incoming_ring);
	bool source =
		atomic_load(&connection->waits_for_source) && !out.ended && out.freed == out.filled;
	bool sink = atomic_load(&connection->waits_for_sink) ||
		    (sink_is_running(connection->sink) && in.freed < in.filled);

	return source || sink ? deadline_now() : atomic_load(&connection->last_progress);
}

bool connection_used_input(const struct connection *connection)
{
	return connection->stream_start != 0;
}

/* True if either side sent more than a message, or into a file. */
static bool streamed(const struct connection *connection)
{
	return connection->streaming &&
	       (!source_is_text(connection->source) || connection->settings->output_file.output ||
		       connection->theirs.size > SINK_TEXT_SIZE);
}

/* How long the streams took, or have taken so far. */
static double seconds(const struct connection *connection)
{
	deadline_t end = connection->exchange_end ? connection->exchange_end : deadline_now();

	return connection->stream_start ? (double)(end - connection->stream_start) / 1000 : 0;
}

/* Fills in all that the connection knows: texts live as long as it does. */
static void fill(struct connection *connection, struct report *report)
{
	bool complete = connection->exchange_end && !failure_is_set(&connection->failure);
	const char *why, *sent = source_name(connection->source);
	const char *received = connection->sink ? sink_name(connection->sink) : "";
	bool named = *received && strcmp(received, "-") != 0;

	report->mode = connection->mode->name;
	report->device = device_name(connection->device);
	report->peer = connection->peer;
	report->chunk = connection->outflow.chunk > connection->inflow.chunk
				? connection->outflow.chunk
				: connection->inflow.chunk;
	report->depth = connection->limits.depth;
	report->secret = connection->handshake.secret;
	report->seconds = seconds(connection);
	report->sent = (struct report_stream){
		.bytes = connection->sender.announced,
		.keyed = report->secret,
		.name = *sent ? sent : NULL,
		.complete = complete,
	};
	source_result(connection->source, &report->sent.digest, &why);
	report->received = (struct report_stream){
		.bytes = connection->receiver.arrived,
		.keyed = report->secret,
		.digest = connection->peer_done.digest,
		.name = named ? received : NULL,
		.complete = complete,
	};
}

/* The sentence about one direction, where more than a message went: nothing if nothing did. */
static void summarise(
	const struct output *output, bool sent, const struct report_stream *stream, double seconds)
{
	char text[512];

	if (!stream->complete && stream->bytes == 0)
		return;
	report_summary(text, sizeof(text), sent, stream, seconds);
	output_line(output, "%s.", text);
}

void connection_report(
	struct connection *connection, enum exit_status status, const char *error, bool json)
{
	const struct exchange_settings *settings = connection->settings;
	struct report report = {
		.program = settings->output->program,
		.status = status,
		.error = error,
	};

	fill(connection, &report);
	if (json)
		report_print(&report);
	if (!streamed(connection))
		return;
	if (!source_is_text(connection->source))
		summarise(settings->output, true, &report.sent, report.seconds);
	if (settings->output_file.output || connection->theirs.size > SINK_TEXT_SIZE)
		summarise(settings->output, false, &report.received, report.seconds);
}
