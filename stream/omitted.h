/*
 * The entries of a tree that its stream leaves out for one reason: how many there are, and lines
 * about the first of them. The thread that reads the tree adds them; any thread reads them.
 */
#ifndef STREAM_OMITTED_H
#define STREAM_OMITTED_H

#include <pthread.h>
#include <stdint.h>

/* The number of entries that are named; the others are only counted. */
#define OMITTED_SHOWN 20

struct omitted {
	pthread_mutex_t lock; /* protects the members below */
	uint64_t count;
	char *lines[OMITTED_SHOWN];
};

/* omitted_end() frees the lines, after which none of the functions may be called. */
void omitted_start(struct omitted *omitted);
void omitted_end(struct omitted *omitted);

/* Counts an entry, and copies the line about it, which must be safe to print. */
void omitted_add(struct omitted *omitted, const char *line);

/* Returns how many there are: of NULL, none. */
uint64_t omitted_count(struct omitted *omitted);

/*
 * Returns the line about the entry of this number, from 0 on, which belongs to the list; NULL if
 * there is no such entry, or it is only counted.
 */
const char *omitted_line(struct omitted *omitted, uint64_t number);

#endif
