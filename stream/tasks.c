/* See stream/tasks.h. The lock is not held while a task is worked on. */
#include <stddef.h>

#include "host/memory-budget.h"
#include "stream/tasks.h"

#define TASKS_PER_WORKER 4

static uint64_t memory_of(unsigned int window)
{
	return window > 1 ? window * TASKS_FILE_SIZE : 0;
}

unsigned int tasks_take_memory(unsigned int workers)
{
	unsigned int window = workers > 1 ? TASKS_PER_WORKER * workers : 1;
	struct failure failure = {0};

	if (memory_budget_take(memory_of(window), &failure))
		return 1;
	memory_budget_filled(memory_of(window));
	return window;
}

void tasks_return_memory(unsigned int window)
{
	memory_budget_return(memory_of(window), memory_of(window));
}

void tasks_init(struct tasks *tasks, void (*work)(struct task *task))
{
	*tasks = (struct tasks){.work = work};
	pthread_mutex_init(&tasks->lock, NULL);
	pthread_cond_init(&tasks->added, NULL);
	pthread_cond_init(&tasks->done, NULL);
}

void tasks_destroy(struct tasks *tasks)
{
	pthread_cond_destroy(&tasks->done);
	pthread_cond_destroy(&tasks->added);
	pthread_mutex_destroy(&tasks->lock);
}

/*
 * Wakes a helper if there are this many new tasks: on a fast file system, one task takes less time
 * than that. The caller holds the lock.
 */
static void wake(struct tasks *tasks, unsigned int least)
{
	if (tasks->asleep > 0 && tasks->fresh_count >= least)
		pthread_cond_signal(&tasks->added);
}

void tasks_add(struct tasks *tasks, struct task *task, bool done)
{
	task->next = NULL;
	task->state = done ? TASK_DONE : TASK_NEW;
	pthread_mutex_lock(&tasks->lock);
	if (tasks->last)
		tasks->last->next = task;
	else
		tasks->first = task;
	tasks->last = task;
	tasks->count++;
	if (!done && tasks->fresh_count++ == 0)
		tasks->fresh = task;
	wake(tasks, TASKS_PER_WORKER);
	pthread_mutex_unlock(&tasks->lock);
}

unsigned int tasks_count(const struct tasks *tasks)
{
	return tasks->count;
}

/* Works on the first new task. The caller holds the lock, and holds it again afterwards. */
static void work(struct tasks *tasks)
{
	struct task *task = tasks->fresh;

	task->state = TASK_TAKEN;
	tasks->fresh_count--;
	while (tasks->fresh && tasks->fresh->state != TASK_NEW)
		tasks->fresh = tasks->fresh->next;
	pthread_mutex_unlock(&tasks->lock);
	tasks->work(task);
	pthread_mutex_lock(&tasks->lock);
	task->state = TASK_DONE;
	if (task == tasks->first)
		pthread_cond_signal(&tasks->done);
}

/* Removes the first task, if there is one. The caller holds the lock. */
static struct task *remove_first(struct tasks *tasks)
{
	struct task *task = tasks->first;

	if (!task)
		return NULL;
	tasks->first = task->next;
	if (!tasks->first)
		tasks->last = NULL;
	if (tasks->fresh == task) {
		tasks->fresh_count--;
		tasks->fresh = task->next;
	}
	tasks->count--;
	return task;
}

struct task *tasks_take(struct tasks *tasks, bool wait)
{
	struct task *task = NULL;

	pthread_mutex_lock(&tasks->lock);
	while (wait && tasks->first && tasks->first->state != TASK_DONE) {
		if (tasks->fresh) {
			wake(tasks, 2);
			work(tasks);
		} else {
			pthread_cond_wait(&tasks->done, &tasks->lock);
		}
	}
	if (tasks->first && tasks->first->state == TASK_DONE)
		task = remove_first(tasks);
	pthread_mutex_unlock(&tasks->lock);
	return task;
}

void tasks_help(struct tasks *tasks)
{
	pthread_mutex_lock(&tasks->lock);
	while (!tasks->ended) {
		if (tasks->fresh) {
			wake(tasks, TASKS_PER_WORKER);
			work(tasks);
			continue;
		}
		tasks->asleep++;
		pthread_cond_wait(&tasks->added, &tasks->lock);
		tasks->asleep--;
	}
	pthread_mutex_unlock(&tasks->lock);
}

void tasks_end(struct tasks *tasks)
{
	pthread_mutex_lock(&tasks->lock);
	tasks->ended = true;
	pthread_cond_broadcast(&tasks->added);
	pthread_mutex_unlock(&tasks->lock);
}

struct task *tasks_drop(struct tasks *tasks)
{
	struct task *task;

	pthread_mutex_lock(&tasks->lock);
	task = remove_first(tasks);
	pthread_mutex_unlock(&tasks->lock);
	return task;
}
