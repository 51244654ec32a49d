/*
 * A thread that deals with a file for a stream, so that no other thread has to wait for one. It can
 * be asked to stop at any time: an eventfd that becomes readable then stands beside its own
 * descriptor in every poll().
 */
#ifndef BASE_WORKER_H
#define BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

/* Room for a sentence that says why something failed, with its zero. */
#define WORKER_WHY_SIZE 384

/* Whom a worker tells what. Both are called on its thread and must not block. */
struct worker_listener {
	void (*moved)(void *about); /* there is something new to look at */
	void (*ended)(void *about); /* the thread is about to end: it may be joined */
	void *about;
};

struct worker {
	pthread_t thread;
	bool running; /* to be joined */
	int stop_fd;  /* an eventfd, readable when it is to stop; -1 before worker_start() */
	const struct worker_listener *listener;
	void (*run)(void *argument);
	void *argument;
};

/*
 * Starts the thread, named so, which calls run(argument) and then the listener. Returns 0 or
 * -errno. Main thread. eventfd(2), pthread_create(3).
 */
int worker_start(struct worker *worker, const char *name, void (*run)(void *), void *argument,
	const struct worker_listener *listener);

/* Asks it to stop; may be called before it runs and more than once. Any thread. */
void worker_stop(const struct worker *worker);

/*
 * Waits until the descriptor is ready for these events of poll(2), or has an error or hang-up to
 * report. Returns 0, or -ECANCELED when the worker is to stop. The worker's thread.
 */
int worker_await(const struct worker *worker, int descriptor, short events);

/* Joins the thread if it was started. Main thread. */
void worker_join(struct worker *worker);

#endif
