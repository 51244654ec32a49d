/* See mesh/wire.h. */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json-document.h"
#include "mesh/wire.h"

/* Objects in objects of a message. */
#define DEPTH_MAX 8

int wire_open(struct wire *wire, int socket)
{
	*wire = (struct wire){.socket = socket, .in = malloc(WIRE_LINE_MAX)};
	fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
	if (wire->in)
		return 0;
	wire_close(wire);
	return -ENOMEM;
}

void wire_close(struct wire *wire)
{
	if (wire->socket >= 0)
		close(wire->socket);
	free(wire->in);
	free(wire->out);
	*wire = (struct wire){.socket = -1};
}

int wire_read(struct wire *wire)
{
	ssize_t got;

	if (wire->in_used == WIRE_LINE_MAX)
		return memchr(wire->in, '\n', wire->in_used) ? 0 : -EMSGSIZE;
	got = read(wire->socket, wire->in + wire->in_used, WIRE_LINE_MAX - wire->in_used);
	if (got == 0)
		return -EPIPE;
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	wire->in_used += (size_t)got;
	return 0;
}

struct json_object *wire_parse(const char *line, size_t length)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *object = NULL;

	/* A zero byte would end the text for the parser. */
	if (tokener && !memchr(line, '\0', length)) {
		json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
		object = json_tokener_parse_ex(tokener, line, (int)length);
		if (json_tokener_get_error(tokener) != json_tokener_success ||
			json_tokener_get_parse_end(tokener) != length ||
			!json_object_is_type(object, json_type_object)) {
			json_object_put(object);
			object = NULL;
		}
	}
	if (tokener)
		json_tokener_free(tokener);
	return object;
}

struct json_object *wire_next(struct wire *wire, int *error)
{
	char *end = wire->in_used ? memchr(wire->in, '\n', wire->in_used) : NULL;
	struct json_object *object;
	size_t length;

	*error = 0;
	if (!end)
		return NULL;
	length = (size_t)(end - wire->in);
	object = wire_parse(wire->in, length);
	if (!object)
		*error = -EPROTO;
	wire->in_used -= length + 1;
	memmove(wire->in, end + 1, wire->in_used);
	return object;
}

int wire_flush(struct wire *wire)
{
	ssize_t sent;

	if (wire->out_used == 0)
		return 0;
	sent = send(wire->socket, wire->out, wire->out_used, MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	wire->out_used -= (size_t)sent;
	memmove(wire->out, wire->out + sent, wire->out_used);
	return 0;
}

/* Appends to the queue. */
static int queue(struct wire *wire, const char *bytes, size_t size)
{
	if (!wire->out)
		wire->out = malloc(WIRE_QUEUE_MAX);
	if (!wire->out)
		return -ENOMEM;
	if (size > WIRE_QUEUE_MAX - wire->out_used)
		return -ENOBUFS;
	memcpy(wire->out + wire->out_used, bytes, size);
	wire->out_used += size;
	return 0;
}

int wire_send(struct wire *wire, struct json_object *message)
{
	const char *line = document_line(message);
	int error = line ? queue(wire, line, strlen(line)) : -ENOMEM;

	if (!error)
		error = queue(wire, "\n", 1);
	json_object_put(message);
	return error ? error : wire_flush(wire);
}

bool wire_text(struct json_object *object, const char *key, char *text, size_t size)
{
	struct json_object *value = document_member(object, key);
	const char *string;
	size_t length;

	if (!json_object_is_type(value, json_type_string))
		return false;
	string = json_object_get_string(value);
	length = (size_t)json_object_get_string_len(value);
	if (length >= size)
		return false;
	for (size_t i = 0; i < length; i++)
		if (string[i] < ' ' || string[i] > '~')
			return false;
	memcpy(text, string, length + 1);
	return true;
}

bool wire_number(struct json_object *object, const char *key, uint64_t least, uint64_t most,
	uint64_t *number)
{
	struct json_object *value = document_member(object, key);

	/* json-c reads a negative number as 0. */
	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0)
		return false;
	*number = json_object_get_uint64(value);
	return *number >= least && *number <= most;
}
