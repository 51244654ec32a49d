/*
 * Brief jobs that may block for a while, such as a call that waits for another host. Each runs on a
 * thread of its own; one that is done waits for the next job for a few seconds, because starting a
 * thread takes longer than most of these jobs. pthread_create(3).
 */
#ifndef BASE_BRIEF_JOB_H
#define BASE_BRIEF_JOB_H

#include <stdbool.h>

/* Owned by the caller, from brief_job_start() until brief_job_wait() returns. */
struct brief_job {
	const char *name; /* of the thread meanwhile */
	void (*run)(void *argument);
	void *argument;
	bool done;
};

/* Has a thread run the job. Returns 0 or -errno. Any thread. */
int brief_job_start(struct brief_job *job);

/* Waits until a job that was started is done. Any thread. */
void brief_job_wait(struct brief_job *job);

#endif
