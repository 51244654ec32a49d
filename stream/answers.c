/*
 * Paths are remembered by a hash. If two of them had the same one, the digest would still tell
 * whether the peer's bytes are those of the file. An answer by time would not, so files whose
 * answers have the same hash are sent.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/memory-budget.h"
#include "stream/answers.h"

/* A file that was asked for. */
struct asked {
	uint64_t hash;
	struct asked_file file;
};

/* An answer, with the hash of its file's path. */
struct given {
	uint64_t hash;
	struct tree_answer answer;
};

struct answers {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct asked *asked;
	struct given *given;
	size_t asked_count, asked_room, given_count, given_room;
	uint64_t memory; /* bytes of the budget */
	uint8_t part[TREE_ANSWER_SIZE];
	size_t got; /* bytes of the next answer */
	bool ended, stopped;
};

struct answers *answers_new(void)
{
	struct answers *answers = calloc(1, sizeof(*answers));

	if (!answers)
		return NULL;
	pthread_mutex_init(&answers->lock, NULL);
	pthread_cond_init(&answers->changed, NULL);
	return answers;
}

void answers_free(struct answers *answers)
{
	if (!answers)
		return;
	pthread_cond_destroy(&answers->changed);
	pthread_mutex_destroy(&answers->lock);
	memory_budget_return(answers->memory, answers->memory);
	free(answers->asked);
	free(answers->given);
	free(answers);
}

static uint64_t hash_of(const char *path)
{
	const struct digest digest = digest_of(path, strlen(path));
	uint64_t hash;

	memcpy(&hash, digest.bytes, sizeof(hash));
	return hash;
}

/*
 * Makes room for another element of this size in an array, whose room doubles. The caller holds the
 * lock. Returns the array, or NULL.
 */
static void *grow(struct answers *answers, void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room : 64;
	struct failure failure = {0};
	void *grown;

	if (count < *room)
		return array;
	if (memory_budget_take(more * size, &failure))
		return NULL;
	grown = reallocarray(array, *room + more, size);
	if (!grown) {
		memory_budget_return(more * size, 0);
		return NULL;
	}
	memory_budget_filled(more * size);
	answers->memory += more * size;
	*room += more;
	return grown;
}

int answers_ask(struct answers *answers, const char *path, const struct asked_file *file)
{
	struct asked *asked;

	pthread_mutex_lock(&answers->lock);
	asked = grow(answers, answers->asked, answers->asked_count, &answers->asked_room,
		sizeof(*asked));
	if (asked) {
		answers->asked = asked;
		asked[answers->asked_count++] = (struct asked){hash_of(path), *file};
	}
	pthread_mutex_unlock(&answers->lock);
	return asked ? 0 : -ENOMEM;
}

/* True if it is an answer to what was asked, and in order. The caller holds the lock. */
static bool is_valid(const struct answers *answers, const struct tree_answer *answer)
{
	size_t count = answers->given_count;
	const struct asked_file *file;

	if (answer->number >= answers->asked_count)
		return false;
	if (count > 0 && answer->number <= answers->given[count - 1].answer.number)
		return false;
	file = &answers->asked[answer->number].file;
	if (answer->by_time && (!file->by_time || answer->size != file->size))
		return false;
	return answer->size > 0 && answer->size <= file->size;
}

/* Adds an answer. The caller holds the lock. */
static int add(struct answers *answers, const struct tree_answer *answer)
{
	struct given *given;

	if (!is_valid(answers, answer))
		return -EPROTO;
	given = grow(answers, answers->given, answers->given_count, &answers->given_room,
		sizeof(*given));
	if (!given)
		return -ENOMEM;
	answers->given = given;
	given[answers->given_count++] =
		(struct given){answers->asked[answer->number].hash, *answer};
	return 0;
}

int answers_take(struct answers *answers, const void *bytes, size_t size)
{
	const uint8_t *next = bytes;
	struct tree_answer answer;
	int error = 0;

	pthread_mutex_lock(&answers->lock);
	while (size > 0 && !error) {
		size_t missing = sizeof(answers->part) - answers->got;
		size_t most = size < missing ? size : missing;

		memcpy(answers->part + answers->got, next, most);
		next += most;
		size -= most;
		answers->got += most;
		if (most < missing)
			break;
		answers->got = 0;
		tree_answer_decode(&answer, answers->part);
		error = add(answers, &answer);
	}
	pthread_mutex_unlock(&answers->lock);
	return error;
}

static int by_hash(const void *one, const void *other)
{
	const struct given *a = one, *b = other;

	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

void answers_end(struct answers *answers)
{
	pthread_mutex_lock(&answers->lock);
	if (answers->given_count > 0)
		qsort(answers->given, answers->given_count, sizeof(*answers->given), by_hash);
	answers->ended = true;
	pthread_cond_broadcast(&answers->changed);
	pthread_mutex_unlock(&answers->lock);
}

void answers_stop(struct answers *answers)
{
	pthread_mutex_lock(&answers->lock);
	answers->stopped = true;
	pthread_cond_broadcast(&answers->changed);
	pthread_mutex_unlock(&answers->lock);
}

int answers_await(struct answers *answers)
{
	bool ended;

	pthread_mutex_lock(&answers->lock);
	while (!answers->ended && !answers->stopped)
		pthread_cond_wait(&answers->changed, &answers->lock);
	ended = answers->ended;
	pthread_mutex_unlock(&answers->lock);
	return ended ? 0 : -ECANCELED;
}

/* True if another answer has the same hash. */
static bool is_ambiguous(const struct answers *answers, const struct given *given)
{
	const struct given *first = answers->given, *last = first + answers->given_count - 1;

	return (given > first && given[-1].hash == given->hash) ||
	       (given < last && given[1].hash == given->hash);
}

const struct tree_answer *answers_find(
	const struct answers *answers, const char *path, struct asked_file *asked)
{
	const struct given key = {.hash = hash_of(path)}, *found = NULL;

	if (answers->given_count > 0)
		found = bsearch(&key, answers->given, answers->given_count, sizeof(*answers->given),
			by_hash);
	if (!found || is_ambiguous(answers, found))
		return NULL;
	*asked = answers->asked[found->answer.number].file;
	return &found->answer;
}

void answers_sum(const struct answers *answers, uint64_t *bytes, uint64_t *storage)
{
	*bytes = *storage = 0;
	for (size_t i = 0; i < answers->given_count; i++) {
		const struct tree_answer *answer = &answers->given[i].answer;
		const struct asked_file *asked = &answers->asked[answer->number].file;

		*bytes += answer->size;
		*storage += answer->size < asked->size && answer->size < asked->storage
				    ? answer->size
				    : asked->storage;
	}
}
