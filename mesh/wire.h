/*
 * The connection of an agent and its coordinator: one JSON object on each line, over TCP. Neither
 * end waits in these functions, nor keeps more than a line that it has not handled. What a peer
 * sends is checked: the length of a line, the depth of its values, and each value where it is read.
 * docs/protocol.md describes the messages. Used by one thread at a time.
 */
#ifndef MESH_WIRE_H
#define MESH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/* The longest line, with its end; and what may wait for a peer that does not read. */
#define WIRE_LINE_MAX  16384
#define WIRE_QUEUE_MAX 65536

struct wire {
	int socket; /* -1: closed */
	char *in;   /* WIRE_LINE_MAX bytes */
	size_t in_used;
	char *out; /* WIRE_QUEUE_MAX bytes, allocated when they are needed */
	size_t out_used;
};

/* Takes a connected socket, and makes it non-blocking. Returns 0, or -ENOMEM: it is closed. */
int wire_open(struct wire *wire, int socket);

/* Closes the socket. Has no effect on a closed one. */
void wire_close(struct wire *wire);

/* Reads what has arrived. Returns 0, -EPIPE at the end, -EMSGSIZE if a line is too long, -errno. */
int wire_read(struct wire *wire);

/*
 * Returns the next object that has arrived whole, which the caller frees with json_object_put().
 * NULL: there is none, or with *error = -EPROTO, the line is no object.
 */
struct json_object *wire_next(struct wire *wire, int *error);

/* Parses one line of this length. Returns its object, or NULL. */
struct json_object *wire_parse(const char *line, size_t length);

/*
 * Sends an object, which it frees, or queues what the peer does not take yet. Returns 0, or -errno:
 * -ENOBUFS if too much is queued.
 */
int wire_send(struct wire *wire, struct json_object *message);

/* Sends what is queued. Returns 0, if all or a part of it was sent, or -errno. */
int wire_flush(struct wire *wire);

/*
 * Members of an object. They return false if there is none of this type and range; the text must
 * fit, with its terminator, and consist of printable ASCII.
 */
bool wire_text(struct json_object *object, const char *key, char *text, size_t size);
bool wire_number(struct json_object *object, const char *key, uint64_t least, uint64_t most,
	uint64_t *number);

#endif
