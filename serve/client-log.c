/* See serve/client-log.h. An entry is free or in its period, which ends with the next count. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/explain.h"
#include "base/units.h"
#include "serve/client-log.h"
#include "serve/slots.h"

void client_log_init(struct client_log *log, const struct output *output)
{
	*log = (struct client_log){.output = output};
	pthread_mutex_init(&log->lock, NULL);
}

/*
 * Writes the address of "ADDRESS:PORT", or of "[ADDRESS]:PORT" the network, without the scope:
 * "10.0.0.1" or "fd00::/64".
 */
static void copy_address(char address[ADDRESS_TEXT_SIZE], const char *peer)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr network;

	if (peer[0] != '[') {
		snprintf(address, ADDRESS_TEXT_SIZE, "%.*s", (int)strcspn(peer, ":"), peer);
		return;
	}
	peer++;
	snprintf(address, ADDRESS_TEXT_SIZE, "%.*s", (int)strcspn(peer, "%]"), peer);
	if (inet_pton(AF_INET6, address, &network) != 1 || IN6_IS_ADDR_V4MAPPED(&network))
		return;
	memset(network.s6_addr + SLOTS_PREFIX_SIZE, 0, sizeof(network) - SLOTS_PREFIX_SIZE);
	snprintf(address, ADDRESS_TEXT_SIZE, "%s/64",
		inet_ntop(AF_INET6, &network, text, sizeof(text)));
}

static bool is_refusal(const struct failure *failure)
{
	return failure->kind == FAILURE_REFUSED ||
	       (failure->kind == FAILURE_PROTOCOL && failure->code == PROTOCOL_UNAUTHENTICATED);
}

/* The entry of all addresses that have none. */
static struct client_log_entry *others(struct client_log *log)
{
	return &log->entries[CLIENT_LOG_ENTRIES];
}

/* Begins the period of a free entry. */
static void begin(struct client_log_entry *entry, const struct failure *failure,
	const char *address, deadline_t now)
{
	*entry = (struct client_log_entry){
		.end = now + CLIENT_LOG_PERIOD,
		.kind = failure->kind,
		.phase = failure->phase,
		.code = failure->code,
	};
	snprintf(entry->address, sizeof(entry->address), "%s", address);
}

/*
 * Returns the entry of this address and failure, a new one if there is none, or the one of all
 * other addresses. With the lock held, like all static functions below.
 */
static struct client_log_entry *entry_of(
	struct client_log *log, const struct failure *failure, const char *address, deadline_t now)
{
	struct client_log_entry *free_entry = NULL;

	for (size_t i = 0; i < CLIENT_LOG_ENTRIES; i++) {
		struct client_log_entry *entry = &log->entries[i];

		if (entry->end && entry->kind == failure->kind && entry->phase == failure->phase &&
			entry->code == failure->code && strcmp(entry->address, address) == 0)
			return entry;
		if (!entry->end && !free_entry)
			free_entry = entry;
	}
	if (!free_entry)
		free_entry = others(log);
	if (!free_entry->end)
		begin(free_entry, failure, address, now);
	return free_entry;
}

/* Prints how many more there were than were printed, if any. */
static void print_count(struct client_log *log, const struct client_log_entry *entry)
{
	char number[UNITS_TEXT];

	if (entry->counted == 0)
		return;
	units_format_count(number, entry->counted);
	if (entry == others(log))
		output_warning(log->output,
			"and %s more clients of other addresses were refused or failed in the last "
			"minute",
			number);
	else if (entry->kind == FAILURE_REFUSED)
		output_line_warning(log->output, "refused %s: %s, and %s more in the last minute.",
			entry->address, entry->line, number);
	else
		output_warning(
			log->output, "%s; and %s more in the last minute.", entry->line, number);
}

/* Counts a refusal or failure. Returns true if it should be printed. */
static bool take(
	struct client_log *log, struct client_log_entry *entry, const struct failure *failure)
{
	unsigned int most = is_refusal(failure) ? 1 : CLIENT_LOG_FAILURES;
	bool shown = entry != others(log) && entry->printed < most;

	if (shown)
		entry->printed++;
	else
		entry->counted++;
	return shown;
}

void client_log_refusal(struct client_log *log, const char *peer, enum refusal refusal,
	const char *cause, deadline_t now)
{
	const struct failure failure = {
		.kind = FAILURE_REFUSED, .phase = PHASE_CONNECT, .code = (int)refusal};
	struct client_log_entry *entry;
	char address[ADDRESS_TEXT_SIZE];

	copy_address(address, peer);
	pthread_mutex_lock(&log->lock);
	entry = entry_of(log, &failure, address, now);
	if (take(log, entry, &failure)) {
		snprintf(entry->line, sizeof(entry->line), "%s", cause);
		output_line_warning(log->output, "refused %s: %s.", peer, cause);
	}
	pthread_mutex_unlock(&log->lock);
}

/* Writes the failure without the peer's port, evidence and the final period. */
static void summarize(struct client_log_entry *entry, const struct failure *failure)
{
	struct failure general = *failure;
	size_t length;

	if (explain(failure->kind, failure->phase, failure->code)->cause)
		general.evidence[0] = '\0';
	explain_failure(&general, entry->address, false, entry->line, sizeof(entry->line));
	length = strlen(entry->line);
	if (length > 0 && entry->line[length - 1] == '.')
		entry->line[length - 1] = '\0';
}

const char *client_log_failure(struct client_log *log, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE], deadline_t now)
{
	struct client_log_entry *entry;
	char address[ADDRESS_TEXT_SIZE];

	if (!failure_is_set(failure))
		return NULL;
	explain_failure(failure, peer, log->output->verbose, text, OUTPUT_FAILURE_SIZE);
	copy_address(address, peer);
	pthread_mutex_lock(&log->lock);
	entry = entry_of(log, failure, address, now);
	if (take(log, entry, failure)) {
		if (!entry->line[0])
			summarize(entry, failure);
		if (is_refusal(failure))
			output_warning(log->output, "%s", text);
		else
			output_error(log->output, "%s", text);
	}
	pthread_mutex_unlock(&log->lock);
	return text;
}

bool client_log_is_counting(struct client_log *log, const char *peer)
{
	char address[ADDRESS_TEXT_SIZE];
	bool counting = false, known = false;

	copy_address(address, peer);
	pthread_mutex_lock(&log->lock);
	for (size_t i = 0; i < CLIENT_LOG_ENTRIES && !counting; i++) {
		const struct client_log_entry *entry = &log->entries[i];

		if (!entry->end || strcmp(entry->address, address) != 0)
			continue;
		known = true;
		counting = entry->counted > 0;
	}
	if (!known)
		counting = others(log)->end && others(log)->counted > 0;
	pthread_mutex_unlock(&log->lock);
	return counting;
}

void client_log_step(struct client_log *log, const char *peer, const char *step)
{
	if (!client_log_is_counting(log, peer))
		output_step(log->output, peer, "%s", step);
}

/* Ends the period. The next refusal or failure begins another one. */
static void end_period(struct client_log *log, struct client_log_entry *entry)
{
	print_count(log, entry);
	entry->end = 0;
}

int client_log_next(struct client_log *log, deadline_t now)
{
	deadline_t next = 0;

	pthread_mutex_lock(&log->lock);
	for (size_t i = 0; i < CLIENT_LOG_ENTRIES + 1; i++) {
		deadline_t end = log->entries[i].end;

		if (end && (!next || end < next))
			next = end;
	}
	pthread_mutex_unlock(&log->lock);
	if (!next)
		return -1;
	return next > now ? (int)(next - now) : 0;
}

void client_log_print_counts(struct client_log *log, deadline_t now)
{
	pthread_mutex_lock(&log->lock);
	for (size_t i = 0; i < CLIENT_LOG_ENTRIES + 1; i++)
		if (log->entries[i].end && log->entries[i].end <= now)
			end_period(log, &log->entries[i]);
	pthread_mutex_unlock(&log->lock);
}

void client_log_end(struct client_log *log)
{
	client_log_print_counts(log, INT64_MAX);
	pthread_mutex_destroy(&log->lock);
}
