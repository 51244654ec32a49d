/* See stream/omitted.h. A line never changes, so it is read without the lock once it is known. */
#include <stdlib.h>
#include <string.h>

#include "stream/omitted.h"

void omitted_start(struct omitted *omitted)
{
	*omitted = (struct omitted){0};
	pthread_mutex_init(&omitted->lock, NULL);
}

void omitted_end(struct omitted *omitted)
{
	for (unsigned int i = 0; i < OMITTED_SHOWN; i++)
		free(omitted->lines[i]);
	pthread_mutex_destroy(&omitted->lock);
}

void omitted_add(struct omitted *omitted, const char *line)
{
	pthread_mutex_lock(&omitted->lock);
	if (omitted->count < OMITTED_SHOWN)
		omitted->lines[omitted->count] =
			strdup(line); /* without memory, it is only counted */
	omitted->count++;
	pthread_mutex_unlock(&omitted->lock);
}

uint64_t omitted_count(struct omitted *omitted)
{
	uint64_t count;

	if (!omitted)
		return 0;
	pthread_mutex_lock(&omitted->lock);
	count = omitted->count;
	pthread_mutex_unlock(&omitted->lock);
	return count;
}

const char *omitted_line(struct omitted *omitted, uint64_t number)
{
	const char *line;

	if (number >= OMITTED_SHOWN)
		return NULL;
	pthread_mutex_lock(&omitted->lock);
	line = omitted->lines[number];
	pthread_mutex_unlock(&omitted->lock);
	return line;
}
