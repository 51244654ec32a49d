/*
 * Tasks that a crew (stream/crew.h) works on side by side, such as one small file of a folder each.
 * One thread, the owner, adds tasks and takes their results in the same order. While it waits for a
 * result, it works on other tasks; without helpers, it does all the work.
 */
#ifndef STREAM_TASKS_H
#define STREAM_TASKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of a task, which the owner allocates and frees. */
struct task {
	struct task *next;
	enum { TASK_NEW, TASK_TAKEN, TASK_DONE } state; /* set by the functions below */
};

struct tasks {
	void (*work)(struct task *task); /* any thread */
	pthread_mutex_t lock;            /* protects the members below, and all tasks' states */
	pthread_cond_t added, done;
	struct task *first, *last;       /* in order, up to the last one that was added */
	struct task *fresh;              /* the first new one, or NULL */
	unsigned int count, fresh_count; /* of all tasks; of new ones */
	unsigned int asleep;             /* helpers without a task */
	bool ended;
};

/* The size of the largest file, or piece of a file, whose contents a task keeps, in bytes. */
#define TASKS_FILE_SIZE ((uint64_t)256 << 10)

/*
 * The number of tasks that keep this many threads busy: more than one each, because results are
 * taken in order. Takes the memory for their contents from the memory budget; without it, the
 * number is 1, as for one thread. tasks_return_memory() returns it. Any thread.
 */
unsigned int tasks_take_memory(unsigned int workers);
void tasks_return_memory(unsigned int window);

/* Initialises an empty list. tasks_destroy() releases the lock; no thread may help any more. */
void tasks_init(struct tasks *tasks, void (*work)(struct task *task));
void tasks_destroy(struct tasks *tasks);

/* Adds a task to be worked on or, if it needs no work, one that is done. Owner. */
void tasks_add(struct tasks *tasks, struct task *task, bool done);

/* The number of tasks that were added and not removed. Owner. */
unsigned int tasks_count(const struct tasks *tasks);

/*
 * Removes the first task once it is done, and returns it; NULL if there is none or, with `wait`
 * false, if it is not done yet. A wait lasts as long as the work. Owner.
 */
struct task *tasks_take(struct tasks *tasks, bool wait);

/* Works on tasks until tasks_end(). Any thread but the owner. */
void tasks_help(struct tasks *tasks);

/*
 * No further task is begun: the helpers return once their current ones are done. tasks_drop() then
 * removes and returns the first task, whether it was worked on or not, or NULL. Owner.
 */
void tasks_end(struct tasks *tasks);
struct task *tasks_drop(struct tasks *tasks);

#endif
