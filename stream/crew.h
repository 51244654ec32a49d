/*
 * A crew: several threads that do the same work side by side, such as reading the blocks of a file.
 */
#ifndef STREAM_CREW_H
#define STREAM_CREW_H

/* The largest crew, as --workers allows. */
#define CREW_MAX 64

/*
 * Calls work(argument, number) for each number from 0 to count - 1, 0 on the calling thread and
 * each other one on a thread with this name (at most 15 bytes) on the same processors, and
 * returns when all calls have returned. If the system has no more threads, the crew is smaller:
 * the members must share the work, not divide it by number. Returns the size of the crew. Any
 * thread. pthread_create(3).
 */
unsigned int crew_run(unsigned int count, const char *name,
	void (*work)(void *argument, unsigned int number), void *argument);

#endif
