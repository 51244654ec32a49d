#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/file-name.h"
#include "stream/sink.h"

/* So much is copied at a time, with a key. */
#define COPY_SIZE ((size_t)128 << 10)

/* The CQ thread is told of room when so many parts of the ring are free again: not of every byte. */
#define PARTS 4

struct sink {
	const struct output_file_options *options; /* output is NULL: nothing is kept */
	bool threaded;
	struct ring *ring;
	size_t most; /* of one write */
	struct worker worker;

	/* set before `named` is */
	char name[FILE_NAME_MAX], fallback[FILE_NAME_MAX + 1];
	size_t name_size;
	sem_t begun;

	/* set before the ring ends */
	uint64_t expected_size;
	struct digest expected;

	/* the sink's own until `state` is set */
	struct output_file *file;
	struct digester *digester;
	bool has_key;  /* set before `begun` is posted */
	uint8_t *copy; /* with a key: of the data that is dealt with, COPY_SIZE bytes */
	uint64_t size;
	uint8_t text[SINK_TEXT_SIZE]; /* the first bytes */
	int error;
	char why[OUTPUT_FILE_WHY_SIZE];
	char kept[FILE_NAME_MAX + 1];

	pthread_mutex_t lock; /* of what follows */
	bool named;           /* sink_begin() was called: `begun` is posted by sink_stop() too */
	enum sink_state state;
};

static void set_state(struct sink *sink, enum sink_state state)
{
	pthread_mutex_lock(&sink->lock);
	sink->state = state;
	pthread_mutex_unlock(&sink->lock);
}

static bool is_named(struct sink *sink)
{
	bool named;

	pthread_mutex_lock(&sink->lock);
	named = sink->named;
	pthread_mutex_unlock(&sink->lock);
	return named;
}

int sink_open(struct sink **result, const struct output_file_options *options, uint64_t size)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return -ENOMEM;
	sink->worker.stop_fd = -1;
	sem_init(&sink->begun, 0, 0);
	pthread_mutex_init(&sink->lock, NULL);
	sink->options = options;
	sink->threaded = options->output || size > SINK_TEXT_SIZE;
	sink->digester = digester_new();
	if (!sink->digester) {
		sink_close(sink);
		return -ENOMEM;
	}
	*result = sink;
	return 0;
}

void sink_close(struct sink *sink)
{
	if (!sink)
		return;
	worker_join(&sink->worker);
	output_file_close(sink->file);
	digester_free(sink->digester);
	free(sink->copy);
	pthread_mutex_destroy(&sink->lock);
	sem_destroy(&sink->begun);
	free(sink);
}

/*
 * Takes bytes that came: a copy of the first, for a text is shown as it was digested; with a key, a
 * copy of all.
 */
static int take(struct sink *sink, const struct span *span)
{
	size_t room = sink->size < SINK_TEXT_SIZE ? SINK_TEXT_SIZE - (size_t)sink->size : 0;
	const uint8_t *bytes = span->start;

	if (room > 0) {
		memcpy(sink->text + sink->size, span->start, span->size < room ? span->size : room);
		if (span->size <= room)
			bytes = sink->text + sink->size;
	}
	if (sink->copy && bytes == span->start)
		bytes = memcpy(sink->copy, bytes, span->size);
	digester_add(sink->digester, bytes, span->size);
	sink->size += span->size;
	return sink->file ? output_file_write(sink->file, bytes, span->size, sink->why) : 0;
}

/* Empties the ring to its end. Returns 0 or -errno. */
static int empty_ring(struct sink *sink)
{
	const struct worker_listener *listener = sink->worker.listener;
	size_t most = sink->copy && sink->most > COPY_SIZE ? COPY_SIZE : sink->most;
	uint64_t reported = 0;
	enum ring_wait wait;
	struct span span;
	int error;

	while ((wait = ring_await_data(sink->ring, most, &span)) == RING_READY) {
		error = take(sink, &span);
		if (error)
			return error;
		ring_free_to(sink->ring, sink->size);
		if (!sink->threaded || sink->size - reported < sink->ring->size / PARTS)
			continue;
		reported = sink->size;
		listener->moved(listener->about);
	}
	return wait == RING_ENDED ? 0 : -ECANCELED;
}

/* All is here: compares it with what the peer sent, and keeps it if it is the same. */
static enum sink_state verify(struct sink *sink)
{
	struct digest digest = digester_result(sink->digester);

	if (sink->size != sink->expected_size || !digest_equal(&digest, &sink->expected))
		return SINK_DAMAGED;
	if (!sink->file)
		return SINK_VERIFIED;
	sink->error = output_file_commit(sink->file, sink->why);
	if (sink->error)
		return SINK_FAILED;
	snprintf(sink->kept, sizeof(sink->kept), "%s", output_file_name(sink->file));
	return SINK_VERIFIED;
}

static int open_output_file(struct sink *sink)
{
	const struct output_file_offer offer = {sink->name, sink->name_size, sink->fallback};

	if (!sink->options->output)
		return 0;
	return output_file_open(
		&sink->file, sink->options, &offer, sink->worker.stop_fd, sink->why);
}

static int make_copy(struct sink *sink)
{
	sink->copy = malloc(COPY_SIZE);
	if (sink->copy)
		return 0;
	snprintf(sink->why, sizeof(sink->why), "%s", strerror(ENOMEM));
	return -ENOMEM;
}

static void run(void *argument)
{
	struct sink *sink = argument;
	enum sink_state state = SINK_FAILED;

	while (sem_wait(&sink->begun))
		; /* EINTR */
	sink->error = is_named(sink) ? open_output_file(sink) : -ECANCELED;
	if (!sink->error && sink->has_key)
		sink->error = make_copy(sink);
	if (!sink->error)
		sink->error = empty_ring(sink);
	if (!sink->error)
		state = verify(sink);
	/* What was not verified goes before anybody hears of it. */
	output_file_close(sink->file);
	sink->file = NULL;
	set_state(sink, state);
	sink->worker.listener->moved(sink->worker.listener->about);
}

int sink_start(
	struct sink *sink, struct ring *ring, size_t most, const struct worker_listener *listener)
{
	sink->ring = ring;
	sink->most = most;
	return sink->threaded ? worker_start(&sink->worker, "sink", run, sink, listener) : 0;
}

void sink_set_key(struct sink *sink, const uint8_t key[DIGEST_KEY_SIZE])
{
	digester_set_key(sink->digester, key);
	sink->has_key = true;
}

void sink_begin(struct sink *sink, const void *name, size_t name_size, const char *fallback)
{
	sink->name_size = name_size < sizeof(sink->name) ? name_size : sizeof(sink->name);
	memcpy(sink->name, name, sink->name_size);
	snprintf(sink->fallback, sizeof(sink->fallback), "%s", fallback);
	pthread_mutex_lock(&sink->lock);
	sink->named = true;
	pthread_mutex_unlock(&sink->lock);
	sem_post(&sink->begun);
}

void sink_finish(struct sink *sink, uint64_t size, const struct digest *digest)
{
	sink->expected_size = size;
	sink->expected = *digest;
	ring_end(sink->ring);
	if (!sink->threaded)
		set_state(sink, empty_ring(sink) ? SINK_FAILED : verify(sink));
}

enum sink_state sink_state(struct sink *sink)
{
	enum sink_state state;

	pthread_mutex_lock(&sink->lock);
	state = sink->state;
	pthread_mutex_unlock(&sink->lock);
	return state;
}

const char *sink_error(struct sink *sink, int *error)
{
	*error = sink->error;
	return sink->why;
}

const char *sink_name(const struct sink *sink)
{
	return sink->kept;
}

const uint8_t *sink_text(const struct sink *sink, size_t *size)
{
	*size = (size_t)sink->size;
	return sink->options->output || sink->size > SINK_TEXT_SIZE ? NULL : sink->text;
}

void sink_stop(struct sink *sink)
{
	if (!sink)
		return;
	if (sink->ring)
		ring_stop(sink->ring);
	worker_stop(&sink->worker);
	sem_post(&sink->begun);
}

bool sink_is_running(const struct sink *sink)
{
	return sink && sink->worker.running;
}
