/* See base/brief-job.h. At most one thread waits for the next job: `waits`. */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/brief-job.h"

/* How long a thread waits for the next job, in seconds. */
#define PATIENCE 5

static struct {
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	bool waits;
	struct brief_job *next; /* for the thread that waits; NULL: none so far */
} spare = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.given = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

/* Returns the next job, or NULL if another thread waits for one, or none comes. With the lock. */
static struct brief_job *await_job(void)
{
	struct brief_job *job;
	struct timespec until;

	if (spare.waits)
		return NULL;
	spare.waits = true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	while (!spare.next &&
		pthread_cond_timedwait(&spare.given, &spare.lock, &until) != ETIMEDOUT)
		;
	job = spare.next;
	spare.next = NULL;
	spare.waits = false;
	return job;
}

static void *run_jobs(void *argument)
{
	struct brief_job *job = argument;

	while (job) {
		pthread_setname_np(pthread_self(), job->name);
		job->run(job->argument);
		pthread_mutex_lock(&spare.lock);
		job->done = true;
		pthread_cond_broadcast(&spare.done);
		job = await_job();
		pthread_mutex_unlock(&spare.lock);
	}
	return NULL;
}

static int start_thread(struct brief_job *job)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run_jobs, job);

	if (!error)
		pthread_detach(thread);
	return -error;
}

int brief_job_start(struct brief_job *job)
{
	bool taken;

	job->done = false;
	pthread_mutex_lock(&spare.lock);
	taken = spare.waits && !spare.next;
	if (taken) {
		spare.next = job;
		pthread_cond_signal(&spare.given);
	}
	pthread_mutex_unlock(&spare.lock);
	return taken ? 0 : start_thread(job);
}

void brief_job_wait(struct brief_job *job)
{
	pthread_mutex_lock(&spare.lock);
	while (!job->done)
		pthread_cond_wait(&spare.done, &spare.lock);
	pthread_mutex_unlock(&spare.lock);
}
