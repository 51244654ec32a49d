/*
 * A thread for work that may take long, such as reading or writing a file, so that no other thread
 * waits for it. Its poll() calls include an eventfd, so they can be stopped at any time.
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

/* Size of an error message, including the terminator. */
#define WORKER_WHY_SIZE 384

/* Callbacks of a worker. They run on its thread and must not block. */
struct worker_listener {
	void (*moved)(void *about); /* the worker made progress */
	void (*ended)(void *about); /* the thread is about to return and can be joined */
	void *about;
	const cpu_set_t *processors; /* on which it may run; NULL: all */
};

struct worker {
	pthread_t thread;
	bool running; /* the thread must be joined */
	int stop_fd;  /* an eventfd, readable once stopped; -1 before worker_start() */
	const struct worker_listener *listener;
	void (*run)(void *argument);
	void *argument;
};

/*
 * Starts a thread with this name that calls run(argument) and then listener->ended(). Returns 0 or
 * -errno. Any thread. eventfd(2), pthread_create(3).
 */
int worker_start(struct worker *worker, const char *name, void (*run)(void *), void *argument,
	const struct worker_listener *listener);

/* Asks the thread to stop. May be called before it runs and more than once. Any thread. */
void worker_stop(const struct worker *worker);

/*
 * Waits until the descriptor is ready for these poll(2) events or reports an error or hang-up.
 * Returns 0, or -ECANCELED if the worker was asked to stop. The worker's thread.
 */
int worker_await(const struct worker *worker, int descriptor, short events);

/* Joins the thread if it was started. Main thread. */
void worker_join(struct worker *worker);

#endif
