/* The socket that answers `rdma-server status`: see serve/status.h. The caller owns it. */
#include <errno.h>
#include <json-c/json.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json-document.h"
#include "base/version.h"
#include "host/memory-budget.h"
#include "serve/status.h"

/* Those that are answered in one turn of the main loop, so that none of them delays clients. */
#define ANSWERS 4

socklen_t status_address(struct sockaddr_un *address, uint16_t port, long pid)
{
	int length;

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "%s%u/%ld",
		STATUS_PREFIX, port, pid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int status_open(uint16_t port)
{
	struct sockaddr_un address;
	socklen_t length = status_address(&address, port, getpid());
	int error, listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (listener < 0)
		return -errno;
	if (bind(listener, (struct sockaddr *)&address, length) || listen(listener, ANSWERS)) {
		error = -errno;
		close(listener);
		return error;
	}
	return listener;
}

/* The array that service_each() fills. */
struct listing {
	struct json_object *clients;
	uint64_t count;
};

static void add_client(void *user, const struct service_client *client)
{
	const struct progress_state *progress = &client->progress;
	struct listing *listing = user;
	struct json_object *object;

	if (listing->count++ >= STATUS_CLIENTS_MAX)
		return;
	object = json_object_new_object();
	document_add_text(object, "peer", client->peer);
	document_add_text(object, "kind", client->kind);
	document_add_text(object, "state", client->state);
	document_add_text(object, "mode", client->mode);
	document_add_text(object, "device", client->device);
	document_add_text(object, "test", client->test);
	document_add_number_if(object, "size", client->test != NULL, client->size);
	document_add_number(object, "moved", progress->moved);
	document_add_number_if(object, "total", client->mode && progress->total != PROGRESS_UNKNOWN,
		progress->total);
	document_append(listing->clients, document_filled(object));
}

static void add_sessions(
	struct json_object *object, const char *name, const struct totals_sessions *sessions)
{
	struct json_object *numbers = json_object_new_object();

	document_add_number(numbers, "ended", sessions->ended);
	document_add_number(numbers, "failed", sessions->failed);
	document_add(object, name, document_filled(numbers));
}

static struct json_object *totals_json(const struct totals *totals)
{
	struct json_object *object = json_object_new_object();
	char text[TOTALS_TEXT];

	totals_text(totals, deadline_now(), text);
	add_sessions(object, "exchanges", &totals->exchanges);
	add_sessions(object, "measurements", &totals->measurements);
	add_sessions(object, "diagnoses", &totals->diagnoses);
	document_add_number(object, "refused", totals->refused);
	document_add_number(object, "exchanged", totals->exchanged);
	document_add_number(object, "measured", totals->measured);
	document_add_text(object, "text", text);
	return document_filled(object);
}

/* Returns what the server is doing, which the caller frees, or NULL. */
static struct json_object *describe(const struct service *service, uint16_t port)
{
	const struct mode *mode = service->options->mode;
	struct json_object *object = json_object_new_object();
	struct listing listing = {.clients = json_object_new_array()};
	struct memory_budget memory;

	memory_budget_read(&memory);
	service_each(service, &listing, add_client);
	document_add_text(object, "version", PROJECT_VERSION);
	document_add_number(object, "pid", (uint64_t)getpid());
	document_add_number(object, "port", port);
	document_add_text(object, "mode", mode ? mode->name : mode_any.name);
	document_add_boolean(object, "stopping", service->listeners.count == 0);
	document_add_decimal(
		object, "seconds", (double)(deadline_now() - service->totals.start) / 1000, 3);
	document_add_number(object, "memory_used", memory.used);
	document_add_number_if(object, "memory", memory.size != UINT64_MAX, memory.size);
	document_add_number(object, "client_count", listing.count);
	document_add(object, "clients", document_filled(listing.clients));
	document_add(object, "totals", totals_json(&service->totals));
	return document_filled(object);
}

/* True if the process at the other end may know. SO_PEERCRED: unix(7). */
static bool may_know(int connection)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* Sends the answer. What does not fit into the socket's buffer is lost, and the asker notices. */
static void answer(int connection, const struct service *service, uint16_t port)
{
	struct json_object *object = describe(service, port);
	const char *line = document_line(object);

	if (line)
		(void)!send(connection, line, strlen(line), MSG_DONTWAIT | MSG_NOSIGNAL);
	json_object_put(object);
}

int status_answer(int socket, const struct service *service, uint16_t port)
{
	for (int i = 0; i < ANSWERS; i++) {
		/* cppcheck-suppress nullPointer ; accept(2) allows it */
		int connection = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (connection < 0)
			return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR ? 0
											  : -errno;
		if (may_know(connection))
			answer(connection, service, port);
		close(connection);
	}
	return 0;
}
