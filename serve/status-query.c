/*
 * Finds the servers' sockets in proc(5), /proc/net/unix, asks one after another, and prints what
 * they answer. An answer may come from any process that took such an address, so nothing in it is
 * trusted.
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/envelope.h"
#include "base/json-document.h"
#include "base/text.h"
#include "base/units.h"
#include "measure/table.h"
#include "serve/status-query.h"
#include "serve/status.h"

/* Time limit for one answer, in milliseconds. */
#define ANSWER_MS 2000

/* Maximum size of a text from an answer, and of an error. */
#define SHOWN_MAX  480
#define ERROR_SIZE 256

/* Maximum size of a line. */
#define LINE_SIZE (8 * TEXT_ESCAPED_SIZE(SHOWN_MAX))

/* A server's socket. */
struct place {
	unsigned int port;
	long pid;
};

struct query {
	const struct options *options;
	const struct output *output;
	struct place *places; /* owned */
	size_t count;
	struct json_object *servers; /* an array of answers */
	char error[ERROR_SIZE];      /* the last; "": none */
};

/* Adds a place, unless memory is exhausted. */
static void add_place(struct query *query, const struct place *place)
{
	struct place *places;

	/* A power of two is the capacity: time to double it. */
	if ((query->count & (query->count - 1)) == 0) {
		places = reallocarray(
			query->places, query->count ? 2 * query->count : 1, sizeof(*places));
		if (!places)
			return;
		query->places = places;
	}
	query->places[query->count++] = *place;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *first = a, *second = b;

	if (first->port != second->port)
		return first->port < second->port ? -1 : 1;
	return (first->pid > second->pid) - (first->pid < second->pid);
}

/* Finds the sockets; every line of the file ends with the address, '@' in place of the null. */
static void find_places(struct query *query)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char *line = NULL, *start;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		struct place place;
		int end = 0;

		start = strstr(line, " @" STATUS_PREFIX);
		if (start &&
			sscanf(start, " @" STATUS_PREFIX "%5u/%9ld%n", &place.port, &place.pid,
				&end) == 2 &&
			start[end] == '\n' &&
			(query->options->port == 0 || place.port == query->options->port))
			add_place(query, &place);
	}
	free(line);
	if (file)
		fclose(file);
	if (query->count > 0)
		qsort(query->places, query->count, sizeof(query->places[0]), compare_places);
}

/* Connects, with a time limit, which SO_SNDTIMEO sets: socket(7). Returns the socket or -errno. */
static int connect_to(const struct place *place)
{
	static const struct timeval limit = {.tv_sec = ANSWER_MS / 1000};
	struct sockaddr_un address;
	socklen_t length = status_address(&address, (uint16_t)place->port, place->pid);
	int error, connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connection < 0)
		return -errno;
	if (setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0 &&
		connect(connection, (struct sockaddr *)&address, length) == 0)
		return connection;
	error = -errno;
	close(connection);
	return error;
}

/*
 * True unless another user's process pretends to be the server: a real server answers only root and
 * its own user. The process id in the address proves nothing, because it may be that of another pid
 * namespace. SO_PEERCRED: unix(7).
 */
static bool may_answer(int connection)
{
	struct ucred server;
	socklen_t length = sizeof(server);

	return geteuid() == 0 ||
	       (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &server, &length) == 0 &&
		       server.uid == geteuid());
}

/* Receives up to the end of the stream. Returns the size or -errno. */
static ssize_t receive(int connection, char text[STATUS_SIZE_MAX])
{
	struct pollfd waiting = {.fd = connection, .events = POLLIN};
	deadline_t deadline = deadline_in(ANSWER_MS);
	size_t used = 0;
	ssize_t received;

	do {
		if (poll(&waiting, 1, deadline_left(deadline)) <= 0)
			return -EAGAIN;
		received = recv(connection, text + used, STATUS_SIZE_MAX - 1 - used, 0);
		if (received < 0)
			return -errno;
		used += (size_t)received;
	} while (received > 0 && used < STATUS_SIZE_MAX - 1);
	text[used] = '\0';
	return (ssize_t)used;
}

/* Records why there is no answer. */
static void no_answer(struct query *query, const struct place *place, const char *why)
{
	snprintf(query->error, sizeof(query->error), "rdma-server on port %u (pid %ld) %s",
		place->port, place->pid, why);
	output_error(query->output, "%s", query->error);
}

static void ask(struct query *query, const struct place *place)
{
	char *text = malloc(STATUS_SIZE_MAX);
	int connection = text ? connect_to(place) : -ENOMEM;
	ssize_t size = connection < 0           ? connection
		       : may_answer(connection) ? receive(connection, text)
						: 0;
	struct json_object *answer = size > 0 ? json_tokener_parse(text) : NULL;

	if (connection >= 0)
		close(connection);
	free(text);
	if (json_object_is_type(answer, json_type_object)) {
		document_append(query->servers, answer);
		return;
	}
	json_object_put(answer);
	if (size == -ECONNREFUSED)
		return; /* it has just ended */
	if (size == 0)
		no_answer(query, place, "answers only root and the user that runs it");
	else if (size == -EAGAIN)
		no_answer(query, place, "does not answer: it is stopped or very busy");
	else
		no_answer(query, place, size < 0 ? strerror((int)-size) : "sent no valid answer");
}

/* Values of an answer, in which any may be missing or of another type. */

/* The number, or 0. */
static uint64_t number_of(struct json_object *object, const char *key)
{
	return json_object_get_uint64(document_member(object, key));
}

/* Copies the text without control characters, or "". */
static const char *text_of(
	struct json_object *object, const char *key, char text[TEXT_ESCAPED_SIZE(SHOWN_MAX)])
{
	struct json_object *value = document_member(object, key);
	const char *string =
		json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";

	text_escape_utf8(text, string, strnlen(string, SHOWN_MAX));
	return text;
}

/* Prints a line of the result. */
static void __attribute__((format(printf, 2, 3)))
print(const struct output *output, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	output_result(output, NULL, text);
}

/* Prints a measurement of which a test has begun. */
static void print_measurement(const struct output *output, const char *peer, const char *mode,
	const char *device, const char *test, struct json_object *client)
{
	uint64_t moved = number_of(client, "moved");
	char size[TABLE_SIZE], bytes[UNITS_TEXT];

	print(output, "  %-22s %-5s %-10s %-10s %s%s%s%s", peer, mode, device, test,
		table_size(size, number_of(client, "size")), moved ? ", " : "",
		moved ? units_format(bytes, moved) : "", moved ? " so far" : "");
}

static void print_client(const struct output *output, struct json_object *client)
{
	char peer[TEXT_ESCAPED_SIZE(SHOWN_MAX)], kind[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	char state[TEXT_ESCAPED_SIZE(SHOWN_MAX)], device[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	char moved[UNITS_TEXT], total[UNITS_TEXT], mode[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	char test[TEXT_ESCAPED_SIZE(SHOWN_MAX)];

	text_of(client, "peer", peer);
	text_of(client, "kind", kind);
	if (!document_member(client, "mode")) {
		print(output, "  %-22s %s", peer, kind);
		return;
	}
	text_of(client, "mode", mode);
	text_of(client, "state", state);
	text_of(client, "device", device);
	if (*text_of(client, "test", test)) {
		print_measurement(output, peer, mode, device, test, client);
		return;
	}
	units_format(moved, number_of(client, "moved"));
	units_format(total, number_of(client, "total"));
	print(output, "  %-22s %-5s %-10s %-10s %s%s%s", peer, mode, device, state, moved,
		document_member(client, "total") ? " of " : "",
		document_member(client, "total") ? total : "");
}

/* How long the server has run, in milliseconds. */
static int64_t uptime_of(struct json_object *server)
{
	double seconds = json_object_get_double(document_member(server, "seconds"));

	return seconds > 0 && seconds < 1e12 ? (int64_t)(seconds * 1000) : 0;
}

static void print_server(const struct output *output, struct json_object *server)
{
	char version[TEXT_ESCAPED_SIZE(SHOWN_MAX)], mode[TEXT_ESCAPED_SIZE(SHOWN_MAX)];
	char text[TEXT_ESCAPED_SIZE(SHOWN_MAX)], used[UNITS_TEXT], size[UNITS_TEXT];
	char count[UNITS_TEXT], up[UNITS_TEXT];
	struct json_object *clients = document_member(server, "clients");
	uint64_t clients_now = number_of(server, "client_count");
	size_t listed = json_object_is_type(clients, json_type_array)
				? json_object_array_length(clients)
				: 0;

	print(output,
		"rdma-server %s, port %" PRIu64 ", pid %" PRIu64 ", mode %s, up %s: %s client%s%s.",
		text_of(server, "version", version), number_of(server, "port"),
		number_of(server, "pid"), text_of(server, "mode", mode),
		units_format_duration(up, uptime_of(server)),
		units_format_count(count, clients_now), clients_now == 1 ? "" : "s",
		json_object_get_boolean(document_member(server, "stopping")) ? ", stopping" : "");
	for (size_t i = 0; i < listed; i++)
		print_client(output, json_object_array_get_idx(clients, i));
	if (clients_now > listed)
		print(output, "  and %s more", units_format_count(count, clients_now - listed));
	print(output, "%s.", text_of(document_member(server, "totals"), "text", text));
	units_format(used, number_of(server, "memory_used"));
	units_format(size, number_of(server, "memory"));
	print(output, "memory for connections: %s%s%s.", used,
		document_member(server, "memory") ? " of " : "",
		document_member(server, "memory") ? size : "");
}

/* Prints the document, which takes ownership of the answers. */
static void print_document(struct query *query, enum exit_status status, const char *message)
{
	const struct envelope envelope = {
		.program = query->output->program,
		.command = "status",
		.status = status,
		.verdict = status == STATUS_OK        ? "running"
			   : status == STATUS_CONNECT ? "absent"
						      : "failed",
		.message = message,
	};
	struct json_object *object = envelope_json(&envelope);

	document_add(object, "servers", document_filled(query->servers));
	document_print(document_filled(object));
}

/* Writes that there is no server, and returns it. */
static const char *absent(const struct options *options, char text[ERROR_SIZE])
{
	char port[32] = "";

	if (options->port)
		snprintf(port, sizeof(port), " on port %u", options->port);
	snprintf(text, ERROR_SIZE, "no rdma-server is running%s in this network namespace", port);
	return text;
}

enum exit_status status_query(const struct options *options, const struct output *output)
{
	struct query query = {
		.options = options, .output = output, .servers = json_object_new_array()};
	enum exit_status status = STATUS_OK;
	const char *message = NULL;
	size_t count;

	find_places(&query);
	/* A socket and the connections that it has not accepted are several lines of the file. */
	for (size_t i = 0; i < query.count; i++)
		if (i == 0 || compare_places(&query.places[i - 1], &query.places[i]) != 0)
			ask(&query, &query.places[i]);
	free(query.places);
	count = query.servers ? json_object_array_length(query.servers) : 0;
	if (*query.error) {
		status = STATUS_FAILED;
		message = query.error;
	} else if (count == 0) {
		status = STATUS_CONNECT;
		message = absent(options, query.error);
		output_error(output, "%s", message);
	}
	for (size_t i = 0; i < count && !options->json; i++)
		print_server(output, json_object_array_get_idx(query.servers, i));
	if (options->json)
		print_document(&query, status, message);
	else
		json_object_put(query.servers);
	return status;
}
