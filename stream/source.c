#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "stream/source.h"

/* Full reads that are announced together. */
#define TOGETHER 8

struct source {
	const void *text; /* NULL: it is a file */
	const char *fifo; /* not opened yet: then descriptor is -1; NULL: it is none */
	int descriptor;
	bool regular;   /* reading from it never waits for anybody */
	uint64_t size;  /* or STREAM_SIZE_UNKNOWN */
	char name[256]; /* base name */
	struct ring *ring;
	size_t most; /* of one read */
	sem_t begun;
	struct worker worker;
	bool has_key; /* set before `begun` is posted */
	uint8_t key[DIGEST_KEY_SIZE];

	/* set before the ring ends, constant after */
	int error;
	struct digest digest;
	char why[WORKER_WHY_SIZE];
};

/* Makes the sentence about an input that cannot be read; returns the error again. */
static int cannot_read(char why[WORKER_WHY_SIZE], const char *name, const char *reason, int error)
{
	char printable[TEXT_ESCAPED_SIZE(64)];

	/* Long names are cut: the sentence has to fit into a message. */
	text_escape_utf8(printable, name, strnlen(name, 64));
	snprintf(why, WORKER_WHY_SIZE, "cannot read %.160s: %s",
		*name ? printable : "standard input", reason);
	return error;
}

/* How much will come out of the descriptor, as far as that can be known. */
static void measure(struct source *source, const struct stat *status)
{
	off_t offset = lseek(source->descriptor, 0, SEEK_CUR);

	source->regular = S_ISREG(status->st_mode);
	/* Files of the kernel, as in /proc, say that they are empty. */
	if (source->regular && status->st_size > 0 && offset >= 0)
		source->size = status->st_size > offset ? (uint64_t)(status->st_size - offset) : 0;
	else
		source->size = STREAM_SIZE_UNKNOWN;
}

/*
 * A writer that finds a FIFO's reader begins to write, and what it wrote is lost when the reader goes: so
 * whoever is here only to be refused, or never to prove who he is, must not open it.
 */
static int leave_fifo(struct source *source, const char *input, const char *shown, char *why)
{
	source->descriptor = -1;
	source->fifo = input;
	source->size = STREAM_SIZE_UNKNOWN;
	return faccessat(AT_FDCWD, input, R_OK, AT_EACCESS)
		       ? cannot_read(why, shown, strerror(errno), -errno)
		       : 0;
}

/* One without a writer is waited for later, where that harms nobody. */
static int open_fifo(struct source *source)
{
	source->descriptor = open(source->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (source->descriptor < 0)
		return cannot_read(source->why, source->name, strerror(errno), -errno);
	return 0;
}

static int open_input(struct source *source, const char *input, char why[WORKER_WHY_SIZE])
{
	const char *slash = strrchr(input, '/'), *shown = "";
	struct stat status;

	if (strcmp(input, "-") != 0) {
		snprintf(source->name, sizeof(source->name), "%s", slash ? slash + 1 : input);
		/* What ends in a slash has no name, but is not standard input. */
		shown = *source->name ? source->name : input;
		if (stat(input, &status) == 0 && S_ISFIFO(status.st_mode))
			return leave_fifo(source, input, shown, why);
		source->descriptor = open(input, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (source->descriptor < 0)
			return cannot_read(why, shown, strerror(errno), -errno);
	}
	if (fstat(source->descriptor, &status))
		return cannot_read(why, shown, strerror(errno), -errno);
	if (S_ISDIR(status.st_mode))
		return cannot_read(why, shown, strerror(EISDIR), -EISDIR);
	measure(source, &status);
	return 0;
}

int source_open(struct source **result, const char *input, const void *text, size_t text_size,
	char why[WORKER_WHY_SIZE])
{
	struct source *source = calloc(1, sizeof(*source));
	int error;

	if (!source)
		return cannot_read(why, "", strerror(ENOMEM), -ENOMEM);
	source->worker.stop_fd = -1;
	source->descriptor = STDIN_FILENO;
	sem_init(&source->begun, 0, 0);
	if (input) {
		error = open_input(source, input, why);
		if (error) {
			source_close(source);
			return error;
		}
	} else {
		source->text = text;
		source->size = text_size;
		source->digest = digest_of(text, text_size);
	}
	*result = source;
	return 0;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	worker_join(&source->worker);
	if (source->descriptor > STDIN_FILENO)
		close(source->descriptor);
	sem_destroy(&source->begun);
	explicit_bzero(source->key, sizeof(source->key));
	free(source);
}

uint64_t source_size(const struct source *source)
{
	return source->size;
}

const char *source_name(const struct source *source)
{
	return source->name;
}

bool source_is_text(const struct source *source)
{
	return source->text;
}

/*
 * Reads once into the room that the ring has. Returns how many bytes, 0 at the end, or -errno;
 * -ECANCELED when it is to stop.
 */
static ssize_t read_once(struct source *source, const struct span *room, uint64_t position)
{
	uint64_t left = source->size - position; /* of an unknown size: more than ever comes */
	size_t most = room->size < left ? room->size : (size_t)left;
	ssize_t got;

	do {
		if (!source->regular && worker_await(&source->worker, source->descriptor, POLLIN))
			return -ECANCELED;
		got = read(source->descriptor, room->start, most);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got < 0)
		return cannot_read(source->why, source->name, strerror(errno), -errno);
	if (got == 0 && most > 0 && source->size != STREAM_SIZE_UNKNOWN)
		return cannot_read(source->why, source->name,
			"it became shorter while it was being read", -EIO);
	return got;
}

/*
 * Whether to tell of what was filled in now: not of every piece, because each time wakes a thread,
 * but before anything is waited for.
 */
static bool should_announce(const struct source *source, uint64_t unannounced)
{
	struct ring_level level = ring_level(source->ring);
	struct pollfd input = {.fd = source->descriptor, .events = POLLIN};

	return unannounced >= (uint64_t)TOGETHER * source->most ||
	       level.filled - level.freed == source->ring->size ||
	       (!source->regular && poll(&input, 1, 0) == 0);
}

/* Fills the ring to the end of the input. Returns 0 or -errno. */
static int fill_ring(struct source *source, struct digester *digester)
{
	const struct worker_listener *listener = source->worker.listener;
	uint64_t position = 0, announced = 0;
	struct span room;
	ssize_t got;
	int error;

	do {
		if (ring_await_space(source->ring, source->most, &room) != RING_READY)
			return -ECANCELED;
		error = source->descriptor < 0 ? open_fifo(source) : 0;
		if (error)
			return error;
		got = read_once(source, &room, position);
		if (got <= 0)
			return (int)got;
		digester_add(digester, room.start, (size_t)got);
		ring_fill(source->ring, (size_t)got);
		position += (uint64_t)got;
		if (should_announce(source, position - announced)) {
			listener->moved(listener->about);
			announced = position;
		}
	} while (position < source->size);
	return 0;
}

static void run(void *argument)
{
	struct source *source = argument;
	struct digester *digester = digester_new();

	while (sem_wait(&source->begun))
		; /* EINTR */
	if (digester && source->has_key)
		digester_set_key(digester, source->key);
	source->error = digester
				? fill_ring(source, digester)
				: cannot_read(source->why, source->name, strerror(ENOMEM), -ENOMEM);
	if (digester)
		source->digest = digester_result(digester);
	digester_free(digester);
	ring_end(source->ring);
	source->worker.listener->moved(source->worker.listener->about);
}

/* A text is in the ring from the start: a tutorial peer may READ it before it is asked for. */
static void put_text(struct source *source)
{
	memcpy(source->ring->start, source->text, (size_t)source->size);
	ring_fill(source->ring, (size_t)source->size);
	ring_end(source->ring);
}

int source_start(struct source *source, struct ring *ring, size_t most,
	const struct worker_listener *listener)
{
	source->ring = ring;
	source->most = most;
	if (source->text) {
		put_text(source);
		return 0;
	}
	if (source->regular)
		posix_fadvise(source->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
	return worker_start(&source->worker, "source", run, source, listener);
}

void source_set_key(struct source *source, const uint8_t key[DIGEST_KEY_SIZE])
{
	source->has_key = true;
	memcpy(source->key, key, DIGEST_KEY_SIZE);
	/* A text has no thread, and is in the ring already. */
	if (source->text)
		source->digest = digest_of_keyed(key, source->ring->start, (size_t)source->size);
}

void source_begin(struct source *source)
{
	sem_post(&source->begun);
}

int source_result(struct source *source, struct digest *digest, const char **why)
{
	*digest = source->digest;
	*why = source->why;
	return source->error;
}

void source_stop(struct source *source)
{
	if (!source)
		return;
	if (source->ring)
		ring_stop(source->ring);
	worker_stop(&source->worker);
	sem_post(&source->begun);
}

bool source_is_running(const struct source *source)
{
	return source && source->worker.running;
}
