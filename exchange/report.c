/*
 * A connection's reports: its progress while the exchange runs; afterwards a JSON document on
 * standard output and a summary line for each stream longer than a message. The connection owns
 * everything a report points to.
 */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "base/envelope.h"
#include "base/explain.h"
#include "base/json-document.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/connection.h"
#include "exchange/internal.h"
#include "exchange/report.h"
#include "exchange/tuning.h"

/* Bytes of a path shown in the summary. */
#define PATH_SHOWN_MAX 4096

/* A shorter check of what the receiver had is not mentioned in the summary, in milliseconds. */
#define CHECK_SHOWN_MS 100

/* An implausible duration, which no clock should produce, becomes 0. */
static double sane(double seconds)
{
	return seconds > 0 && seconds < 1e12 ? seconds : 0;
}

/* The seconds in which the stream's data moved: those of the report without the check before. */
static double moving_seconds(const struct report *report, const struct report_stream *stream)
{
	return sane(sane(report->seconds) - sane(stream->checked));
}

/* Bytes per second, rounded; negative if unknown. */
static double rate_of(const struct report *report, const struct report_stream *stream)
{
	double duration = moving_seconds(report, stream);
	double rate = duration > 0 ? (double)stream->bytes / duration + 0.5 : -1;

	/* Programs cannot be expected to parse integers of 2^64 and above. */
	return rate < 0x1p64 ? rate : -1;
}

/* What limits one end of a stream: pace.h. NULL if no thread reads or writes it. */
static struct json_object *pace_json(const struct report_stream *stream)
{
	struct json_object *object;
	double shares[PACE_PARTS];

	if (!stream->pace || pace_shares(stream->pace, shares))
		return NULL;
	object = json_object_new_object();
	document_add_number(object, "workers", stream->pace->workers);
	document_add_number(object, "block", stream->pace->block);
	document_add_number(object, "ring", stream->ring);
	document_add_decimal(object, "file", shares[PACE_FILE], 3);
	document_add_decimal(object, "digest", shares[PACE_DIGEST], 3);
	document_add_decimal(object, "link", shares[PACE_LINK], 3);
	return document_filled(object);
}

static struct json_object *stream_json(
	const struct report *report, const struct report_stream *stream)
{
	struct json_object *object = json_object_new_object();
	double rate = rate_of(report, stream);
	struct json_object *pace;
	char hash[DIGEST_TEXT_SIZE];

	digest_text(hash, &stream->digest);
	document_add_number(object, "bytes", stream->bytes);
	document_add_number(object, "resumed_at", stream->from);
	document_add_text(object, "hash", stream->complete ? hash : NULL);
	document_add_number_if(object, "rate", rate >= 0, rate < 0 ? 0 : (uint64_t)rate);
	document_add_text(object, "name", stream->name);
	document_add_text(object, "path", stream->path);
	document_add_number_if(object, "entries", stream->entries > 0, stream->entries);
	document_add_number_if(object, "there", stream->entries > 0, stream->there);
	document_add_number_if(object, "skipped", stream->skipped, omitted_count(stream->skipped));
	document_add_number_if(
		object, "unreadable", stream->unreadable, omitted_count(stream->unreadable));
	document_add_number_if(
		object, "attributes_lost", stream->lost, omitted_count(stream->lost));
	document_add_decimal(object, "check_seconds", sane(stream->checked), 6);
	pace = pace_json(stream);
	if (pace)
		document_add(object, "pace", pace);
	else
		document_add_null(object, "pace");
	return object;
}

static struct json_object *tuning_json(const struct tuning *tuning)
{
	struct json_object *object = json_object_new_object();
	int node = tuning->locality->node;
	char processors[TUNING_PROCESSORS];

	locality_text(tuning->locality, processors, sizeof(processors));
	document_add_number_if(object, "dscp", tuning->dscp >= 0, (uint64_t)tuning->dscp);
	document_add_boolean(object, "relaxed_ordering", tuning->relaxed_ordering);
	document_add_boolean(object, "outgoing_huge_pages", tuning->huge_outgoing);
	document_add_boolean(object, "incoming_huge_pages", tuning->huge_incoming);
	document_add_number_if(object, "numa_node", node >= 0, (uint64_t)node);
	document_add_known_text(object, "processors", processors);
	document_add_number(object, "completion_vector", (uint64_t)tuning->vector);
	return object;
}

static const char *verdict(enum exit_status status, const struct failure *failure)
{
	if (status == STATUS_OK)
		return "verified";
	if (failure && failure->phase == PHASE_INCOMPLETE)
		return "incomplete";
	return status == STATUS_DAMAGED ? "damaged" : "failed";
}

static struct json_object *memory_json(const struct memory_budget *budget)
{
	struct json_object *object = json_object_new_object();

	if (budget->size == UINT64_MAX)
		document_add_null(object, "budget");
	else
		document_add_number(object, "budget", budget->size);
	document_add_number(object, "used", budget->used);
	document_add_text(object, "source", budget->chosen ? "--memory" : budget->available.source);
	return document_filled(object);
}

struct json_object *report_json(const struct report *report)
{
	const struct envelope envelope = {
		.program = report->program,
		.command = report->mode,
		.status = report->status,
		.verdict = verdict(report->status, report->failure),
		.message = report->message,
		.failure = report->failure,
	};
	struct json_object *object = envelope_json(&envelope);

	document_add_text(object, "mode", report->mode);
	document_add_text(object, "device", report->device);
	document_add_text(object, "peer", report->peer);
	document_add_text(object, "peer_device", report->peer_device);
	document_add_boolean(object, "secret", report->secret);
	document_add_text(object, "digest", digest_name(report->secret));
	/* Round to microseconds: all 17 digits of a double would only show its rounding error. */
	document_add_decimal(object, "seconds", sane(report->seconds), 6);
	document_add_number(object, "chunk", report->chunk);
	document_add_number(object, "depth", report->depth);
	if (report->tuning)
		document_add(object, "tuning", tuning_json(report->tuning));
	else
		document_add_null(object, "tuning");
	if (report->memory)
		document_add(object, "memory", memory_json(report->memory));
	else
		document_add_null(object, "memory");
	document_add(object, "sent", stream_json(report, &report->sent));
	document_add(object, "received", stream_json(report, &report->received));
	return document_filled(object);
}

/* Writes where a stream resumed and how long the check of what was there took, or "". */
static void format_resumed(char *text, size_t size, const struct report_stream *stream)
{
	int64_t checked = (int64_t)(sane(stream->checked) * 1000);
	char part[UNITS_TEXT];

	*text = '\0';
	if (stream->from > 0)
		text_append(
			text, size, ", resumed at byte %s", units_format_count(part, stream->from));
	if (checked >= CHECK_SHOWN_MS)
		text_append(text, size, "%s a check of %s", stream->from > 0 ? " after" : ", after",
			units_format_duration(part, checked));
}

/* How much a summary says was transferred. */
#define AMOUNT_TEXT (5 * UNITS_TEXT + 64)

/* Appends a number of entries that were left out, after other notes or as the first one. */
static void append_omitted(
	char text[AMOUNT_TEXT], const char **separator, uint64_t count, const char *what)
{
	char number[UNITS_TEXT];

	if (count == 0)
		return;
	text_append(
		text, AMOUNT_TEXT, "%s%s %s", *separator, units_format_count(number, count), what);
	*separator = ", ";
}

/*
 * What a tree consists of: " (5,000 files, 2.10 GB)", how much of it is not in holes, and how many
 * entries were left out. Its names would only add to the bytes.
 */
static void format_files(char text[AMOUNT_TEXT], const struct report_stream *stream)
{
	char files[UNITS_TEXT], contents[UNITS_TEXT];
	const char *separator = "; ";

	snprintf(text, AMOUNT_TEXT, " (%s file%s, ", units_format_count(files, stream->files),
		stream->files == 1 ? "" : "s");
	if (stream->there > 0)
		text_append(text, AMOUNT_TEXT, "%s already there, ",
			units_format_count(files, stream->there));
	text_append(text, AMOUNT_TEXT, "%s", units_format(contents, stream->contents));
	if (stream->contents > stream->bytes) {
		text_append(text, AMOUNT_TEXT, "; %s without holes",
			units_format(contents, stream->bytes));
		separator = ", ";
	}
	append_omitted(text, &separator, omitted_count(stream->skipped), "skipped");
	append_omitted(text, &separator, omitted_count(stream->unreadable), "unreadable");
	append_omitted(text, &separator, omitted_count(stream->lost), "without all attributes");
	text_append(text, AMOUNT_TEXT, ")");
}

/*
 * The bytes of a stream: ": 2,100,000,000 bytes (2.10 GB)", and how many of them are not in holes:
 * "(2.10 GB; 1.2 MB without holes)".
 */
static void format_bytes(char text[AMOUNT_TEXT], const struct report_stream *stream)
{
	char count[UNITS_TEXT], short_form[UNITS_TEXT], moved[UNITS_TEXT];
	bool holes = stream->left_out > 0;
	uint64_t bytes = stream->bytes + (holes ? (uint64_t)stream->left_out : 0);

	snprintf(text, AMOUNT_TEXT, ": %s byte%s", units_format_count(count, bytes),
		bytes == 1 ? "" : "s");
	if (bytes < 1000)
		return;
	text_append(text, AMOUNT_TEXT, " (%s", units_format(short_form, bytes));
	if (holes)
		text_append(text, AMOUNT_TEXT, "; %s without holes",
			units_format(moved, stream->bytes));
	text_append(text, AMOUNT_TEXT, ")");
}

/* What a complete stream is, before its digest. Only the peer can count what it could not keep. */
static const char *format_verdict(const struct report *report, const struct report_stream *stream)
{
	bool elsewhere = report->failure && report->failure->phase == PHASE_INCOMPLETE &&
			 stream == &report->sent && omitted_count(report->received.lost) == 0;

	if (omitted_count(stream->unreadable) > 0)
		return "incomplete: all else verified, ";
	if (omitted_count(stream->lost) > 0 || elsewhere)
		return "incomplete: all data verified, ";
	return "verified, ";
}

int report_summary(char *text, size_t size, const struct report *report, bool sent)
{
	const struct report_stream *stream = sent ? &report->sent : &report->received;
	bool there = stream->complete && stream->from > 0 && stream->bytes == 0;
	const char *verb = there               ? "already there:"
			   : sent              ? "sent"
			   : stream->discarded ? "discarded"
					       : "received";
	char part[UNITS_TEXT], count[UNITS_TEXT], rate[UNITS_TEXT + 2] = "";
	char end[48 + DIGEST_NAME_SIZE + DIGEST_TEXT_SIZE] = "incomplete", hash[DIGEST_TEXT_SIZE];
	char resumed[48 + UNITS_TEXT], more[40] = "", files[AMOUNT_TEXT] = "",
				       bytes[AMOUNT_TEXT] = "";
	char path[TEXT_ESCAPED_SIZE(PATH_SHOWN_MAX)] = "data";
	double bytes_per_second = rate_of(report, stream);
	const char *shown = stream->path ? stream->path : stream->target;
	const struct mode *mode = report->mode ? mode_by_name(report->mode) : NULL;

	if (shown)
		text_escape_utf8(path, shown, strnlen(shown, PATH_SHOWN_MAX));
	if (stream->entries > 1)
		snprintf(more, sizeof(more), " and %s more",
			units_format_count(part, stream->entries - 1));
	if (stream->entries > 0 && stream->complete)
		format_files(files, stream);
	else
		format_bytes(bytes, stream);
	/* The names of empty files have no rate that tells anything. */
	if (bytes_per_second >= 0 && (*files ? stream->contents : stream->bytes) > 0)
		snprintf(rate, sizeof(rate), ", %s",
			units_format_rate(part, (uint64_t)bytes_per_second));
	if (stream->complete) {
		digest_text(hash, &stream->digest);
		snprintf(end, sizeof(end), "%s%s %s", there ? "" : format_verdict(report, stream),
			digest_name(report->secret), hash);
	} else if (stream->resumes) {
		snprintf(end, sizeof(end), "incomplete; the same command %s the rest",
			sent ? "sends" : "fetches");
	} else if (stream->kept) {
		snprintf(end, sizeof(end), "incomplete; kept for the client to resume");
	}
	if (there)
		return snprintf(text, size, "%s %s %s %s: %s byte%s, %s", verb, path,
			sent ? "at" : "from", report->peer ? report->peer : "the peer",
			units_format_count(count, stream->from), stream->from == 1 ? "" : "s", end);
	format_resumed(resumed, sizeof(resumed), stream);
	return snprintf(text, size, "%s %s%s%s %s %s%s%s%s in %s%s%s, %s", verb, path, more, files,
		sent ? "to" : "from", report->peer ? report->peer : "the peer", bytes,
		mode ? " by " : "", mode ? mode->operation : "",
		units_format_duration(part, (int64_t)(moving_seconds(report, stream) * 1000)), rate,
		resumed, end);
}

int report_messages(char *text, size_t size, const struct report *report, const char *device)
{
	const struct mode *mode = mode_by_name(report->mode);
	const char *operation = mode ? mode->operation : "WRITE";
	const char *peer = report->peer ? report->peer : "the peer";
	char part[UNITS_TEXT];

	units_format_duration(part, (int64_t)(sane(report->seconds) * 1000));
	if (report->peer_device)
		return snprintf(text, size, "verified both ways by %s in %s: %s here, %s at %s",
			operation, part, device, report->peer_device, peer);
	return snprintf(text, size, "verified both ways by %s in %s: %s here, with %s", operation,
		part, device, peer);
}

/* True if the peer sends more than a message, as far as known. */
static bool receives_stream(const struct connection *connection)
{
	return (connection->sink && sink_has_output(connection->sink)) ||
	       (connection->theirs.size > SINK_TEXT_SIZE && !connection->answers);
}

/* True if we send more than a message. */
static bool sends_stream(const struct connection *connection)
{
	return !source_is_text(connection->source) && !connection->answers_peer;
}

/*
 * Adds a direction that has this size, of which so much does not move; a tree's is known later.
 */
static void add_stream(struct progress_state *state, uint64_t size, int64_t left_out,
	const struct tree_state *tree)
{
	if (size == STREAM_SIZE_UNKNOWN && tree->total > 0)
		size = tree->total;
	else if (size != STREAM_SIZE_UNKNOWN)
		size -= (uint64_t)left_out;
	state->total = size == STREAM_SIZE_UNKNOWN || state->total == PROGRESS_UNKNOWN
			       ? PROGRESS_UNKNOWN
			       : state->total + size;
	if (tree->file == 0 || state->file > 0)
		return;
	state->file = tree->file;
	state->files = tree->files;
	memcpy(state->name, tree->name, sizeof(state->name));
}

struct progress_state connection_progress(struct connection *connection)
{
	bool in = receives_stream(connection);
	bool out = sends_stream(connection) || !in;
	uint64_t sent = atomic_load(&connection->sent_bytes);
	struct tree_state tree = source_tree(connection->source, sent);
	struct progress_state state = {.checking = atomic_load(&connection->checking)};

	/* It is set before `checking` becomes false. */
	state.there = atomic_load(&connection->there_bytes);
	state.began = atomic_load(&connection->data_began);

	if (out) {
		state.moved = sent;
		add_stream(&state, source_size(connection->source),
			source_left_out(connection->source), &tree);
	}
	if (in || !sends_stream(connection)) {
		tree = connection->sink ? sink_tree(connection->sink) : (struct tree_state){0};
		state.moved += atomic_load(&connection->received_bytes);
		add_stream(&state, connection->theirs.size,
			connection->sink ? sink_left_out(connection->sink) : 0, &tree);
	}
	return state;
}

bool connection_take_resumed(
	struct connection *connection, bool names, struct progress_state *progress)
{
	if (connection->told_resumed)
		return false;
	*progress = connection_progress(connection);
	if (progress->checking || progress->there == 0)
		return false;
	if (names)
		snprintf(progress->peer, sizeof(progress->peer), "%s", connection->peer);
	connection->told_resumed = true;
	return true;
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

/* The duration of the streams, so far or in total. */
static double seconds(const struct connection *connection)
{
	deadline_t end = connection->exchange_end ? connection->exchange_end : deadline_now();

	return connection->stream_start ? (double)(end - connection->stream_start) / 1000 : 0;
}

/* The seconds until the data of a stream could move. */
static double check_seconds(const struct connection *connection, const struct resumption *resuming)
{
	return resuming->start ? (double)(resuming->began - connection->stream_start) / 1000 : 0;
}

/* True if the cause of a failure may be gone when the user tries again, and was none of a file. */
static bool may_pass(const struct failure *failure)
{
	switch (failure->kind) {
	case FAILURE_INTERRUPTED:
	case FAILURE_DEADLINE:
	case FAILURE_GONE:
	case FAILURE_COMPLETION:
	case FAILURE_REMOVED:
		return true;
	default:
		return false;
	}
}

/*
 * True if the server has a part of our file and keeps it. It stores files in a directory if it
 * takes trees; otherwise, its output may be a pipe.
 */
static bool server_keeps_part(const struct connection *connection)
{
	const struct resumption *resuming = &connection->resuming_out;
	uint64_t size = source_size(connection->source);

	if (connection->answers)
		return resuming->start && connection->sender.credited > 0;
	return resuming->possible && size != STREAM_SIZE_UNKNOWN && size >= OUTPUT_FILE_RESUMED &&
	       ((connection->theirs.flags & HELLO_TAKES_TREE) || resuming->offered > 0) &&
	       (resuming->from > 0 || connection->sender.credited > 0);
}

/* Sets which streams the same command of the client completes. */
static void find_resumable(
	const struct connection *connection, const struct failure *outcome, struct report *report)
{
	if (!connection->settings->active)
		report->received.kept = connection->sink && sink_has_left(connection->sink);
	if (!connection->settings->active || !may_pass(outcome))
		return;
	report->sent.resumes = server_keeps_part(connection);
	report->received.resumes = connection->sink && sink_has_left(connection->sink);
}

/* Copies what the tree consists of; incomplete, these are only the files that have begun. */
static void count_files(struct report_stream *stream, struct tree_state tree)
{
	stream->files = tree.file;
	stream->there = tree.kept;
	stream->contents = tree.bytes;
}

static void find_trees(struct connection *connection, struct report *report)
{
	count_files(&report->sent, source_tree(connection->source, UINT64_MAX));
	report->sent.skipped = source_skipped(connection->source);
	report->sent.unreadable = source_unreadable(connection->source);
	report->sent.lost = source_lost(connection->source);
	report->sent.left_out = source_left_out(connection->source);
	if (!connection->sink)
		return;
	count_files(&report->received, sink_tree(connection->sink));
	report->received.lost = sink_lost(connection->sink);
	report->received.left_out = sink_left_out(connection->sink);
}

/* Of messages, which no thread reads or writes, there are none. */
static void find_paces(const struct connection *connection, struct report *report)
{
	if (!connection->streaming)
		return;
	if (sends_stream(connection))
		report->sent.pace = source_pace(connection->source);
	report->sent.ring = connection->outgoing_ring.size;
	if (connection->sink && receives_stream(connection))
		report->received.pace = sink_pace(connection->sink);
	report->received.ring = connection->incoming_ring.size;
}

void report_omitted(const struct output *output, struct omitted *omitted)
{
	uint64_t count = omitted_count(omitted);
	const char *line;
	char more[UNITS_TEXT];

	for (uint64_t i = 0; i < count && i < OMITTED_SHOWN; i++) {
		line = omitted_line(omitted, i);
		if (line)
			output_warning(output, "%s", line);
	}
	if (count > OMITTED_SHOWN)
		output_warning(output, "and %s more like these",
			units_format_count(more, count - OMITTED_SHOWN));
}

void connection_report_omitted(struct connection *connection)
{
	const struct output *output = connection->settings->output;

	report_omitted(output, source_skipped(connection->source));
	report_omitted(output, source_unreadable(connection->source));
	report_omitted(output, source_lost(connection->source));
	if (connection->sink)
		report_omitted(output, sink_lost(connection->sink));
}

/* Prints the summary of one direction, unless no data moved. */
static void print_summary(const struct output *output, const struct report *report, bool sent)
{
	const struct report_stream *stream = sent ? &report->sent : &report->received;
	char text[TEXT_ESCAPED_SIZE(PATH_SHOWN_MAX) + 512];

	if (!stream->complete && stream->bytes == 0 && stream->from == 0)
		return;
	report_summary(text, sizeof(text) - 1, report, sent);
	text_append(text, sizeof(text), ".");
	output_result(output, NULL, text);
}

/* Prints the result of an exchange of messages. Tutorial programs send no verdict. */
static void print_messages(const struct connection *connection, const struct report *report)
{
	const struct output *output = connection->settings->output;
	char text[256], device[MESSAGE_DEVICE_SIZE];

	if (!connection->mover->rules->verdicts) {
		snprintf(text, sizeof(text), "not verified: %s is a tutorial program.",
			connection->peer);
		output_result(output, connection_client(connection), text);
		return;
	}
	connection_name_device(connection, device);
	report_messages(text, sizeof(text) - 1, report, device);
	text_append(text, sizeof(text), ".");
	output_result(output, connection_client(connection), text);
}

void connection_report(struct connection *connection, const struct failure *outcome,
	const char *message, bool json)
{
	const struct exchange_settings *settings = connection->settings;
	const struct flow *out = &connection->outflow, *in = &connection->inflow;
	bool complete = connection->exchange_end && !failure_is_set(&connection->failure);
	const char *why, *sent = source_name(connection->source);
	const char *received = connection->sink ? sink_name(connection->sink) : "";
	const char *path = connection->sink ? sink_path(connection->sink) : "";
	const char *target = connection->sink ? sink_target(connection->sink) : "";
	const struct tuning tuning = tuning_of(connection);
	bool named = *received && strcmp(received, "-") != 0;
	struct memory_budget memory = {0};
	struct report report = {
		.program = settings->output->program,
		.mode = connection->mode->name,
		.device = device_name(connection->device),
		.peer = connection->peer,
		.peer_device = *connection->peer_device ? connection->peer_device : NULL,
		.status = explain_status(outcome),
		.failure = outcome,
		.message = message,
		.secret = connection->handshake.secret,
		.seconds = seconds(connection),
		.chunk = out->chunk > in->chunk ? out->chunk : in->chunk,
		.depth = connection->limits.depth,
		.tuning = &tuning,
		.memory = settings->active ? NULL : &memory,
		.sent = {.bytes = connection->sender.announced,
			.from = connection->resuming_out.from,
			.checked = check_seconds(connection, &connection->resuming_out),
			.name = *sent ? sent : NULL,
			.path = *sent ? settings->input : NULL,
			.entries = settings->plans & HELLO_SENDS_TREE ? settings->input_count : 0,
			.complete = complete},
		.received = {.bytes = connection->receiver.arrived,
			.from = connection->resuming_in.from,
			.checked = check_seconds(connection, &connection->resuming_in),
			.digest = connection->peer_done.digest,
			.name = named ? received : NULL,
			.path = *path ? path : NULL,
			.target = *target ? target : NULL,
			.entries = connection->sink ? sink_entries(connection->sink) : 0,
			.discarded = connection->sink && !sink_has_output(connection->sink),
			.complete = complete},
	};

	find_resumable(connection, outcome, &report);
	find_trees(connection, &report);
	find_paces(connection, &report);
	source_result(connection->source, &report.sent.digest, &why);
	if (json) {
		memory_budget_read(&memory);
		document_print(report_json(&report));
	}
	if (connection->streaming && sends_stream(connection))
		print_summary(settings->output, &report, true);
	if (connection->streaming && receives_stream(connection))
		print_summary(settings->output, &report, false);
	if (complete && !sends_stream(connection) && !receives_stream(connection))
		print_messages(connection, &report);
}

void report_without_connection(const struct exchange_settings *settings, const struct mode *mode,
	const char *peer, const struct failure *failure, const char *message)
{
	struct memory_budget memory = {0};
	const struct report report = {
		.program = settings->output->program,
		.mode = mode ? mode->name : mode_any.name,
		.memory = settings->active ? NULL : &memory,
		.peer = peer,
		.secret = settings->secret_file,
		.status = explain_status(failure),
		.failure = failure,
		.message = message,
	};

	memory_budget_read(&memory);
	document_print(report_json(&report));
}
