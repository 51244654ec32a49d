/* Runs the threads of a connection as coroutines on one thread; owns their stacks. */
#include "tests/fuzz/threads.h"

#include <poll.h>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <stdatomic.h>
#include <ucontext.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/verbs/fake-internal.h"

#define THREADS_MAX 4
#define STACK_SIZE  ((size_t)256 * 1024)

/* How often threads may be resumed before all of them must wait. */
#define TURNS_MAX 100000

enum state {
	STATE_NONE = 0,
	STATE_READY,
	STATE_POLLS,
	STATE_AWAITS_CONDITION,
	STATE_ENDED,
};

static struct thread {
	enum state state;
	ucontext_t context;
	void *fake_stack; /* AddressSanitizer's */
	void *(*run)(void *argument);
	void *argument;
	struct pollfd *polled;
	nfds_t polled_count;
	int64_t wake;
	const void *condition;
	_Alignas(16) char stack[STACK_SIZE];
} threads[THREADS_MAX];

/* NULL: the target itself. */
static struct thread *running;
static ucontext_t target;
static const void *target_stack;
static size_t target_size;

static int poll_at_once(struct pollfd *waiting, nfds_t count)
{
	return ppoll(waiting, count, &(struct timespec){0}, NULL);
}

/* Switches from the running thread back to the target. */
static void leave(enum state state)
{
	struct thread *thread = running;

	thread->state = state;
	__sanitizer_start_switch_fiber(
		state == STATE_ENDED ? NULL : &thread->fake_stack, target_stack, target_size);
	/* cppcheck-suppress swapcontextCalled */
	swapcontext(&thread->context, &target);
	__sanitizer_finish_switch_fiber(thread->fake_stack, &target_stack, &target_size);
}

static void enter(void)
{
	__sanitizer_finish_switch_fiber(NULL, &target_stack, &target_size);
	running->run(running->argument);
	leave(STATE_ENDED);
}

/* Makes the thread start with enter() when it is resumed. */
static void prepare(struct thread *thread)
{
	/* cppcheck-suppress getcontextCalled */
	fuzz_check(getcontext(&thread->context) == 0);
	thread->context.uc_stack.ss_sp = thread->stack;
	thread->context.uc_stack.ss_size = STACK_SIZE;
	thread->context.uc_link = NULL;
	/* cppcheck-suppress makecontextCalled */
	makecontext(&thread->context, enter, 0);
	thread->state = STATE_READY;
}

static void resume(struct thread *thread)
{
	void *fake_stack;

	running = thread;
	thread->state = STATE_READY;
	__sanitizer_start_switch_fiber(&fake_stack, thread->stack, STACK_SIZE);
	/* cppcheck-suppress swapcontextCalled */
	swapcontext(&target, &thread->context);
	__sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
	running = NULL;
}

static bool can_go_on(const struct thread *thread)
{
	switch (thread->state) {
	case STATE_READY:
		return true;
	case STATE_POLLS:
		return atomic_load(&fake.now) >= thread->wake ||
		       poll_at_once(thread->polled, thread->polled_count) > 0;
	case STATE_AWAITS_CONDITION:
		return !thread->condition;
	default:
		return false;
	}
}

void threads_settle(unsigned int first)
{
	unsigned int turns = 0;
	bool moved = true;

	while (moved) {
		moved = false;
		for (unsigned int i = 0; i < THREADS_MAX; i++) {
			struct thread *thread = &threads[(first + i) % THREADS_MAX];

			if (!can_go_on(thread))
				continue;
			resume(thread);
			moved = true;
			fuzz_check(++turns < TURNS_MAX);
		}
	}
}

void threads_pass(int64_t milliseconds)
{
	int64_t end = atomic_load(&fake.now) + milliseconds, next = 0;

	threads_settle(0);
	while (next < end) {
		next = end;
		for (unsigned int i = 0; i < THREADS_MAX; i++)
			if (threads[i].state == STATE_POLLS && threads[i].wake < next)
				next = threads[i].wake;
		atomic_store(&fake.now, next);
		threads_settle(0);
	}
}

unsigned int threads_alive(void)
{
	unsigned int alive = 0;

	for (unsigned int i = 0; i < THREADS_MAX; i++)
		alive += threads[i].state != STATE_NONE;
	return alive;
}

static void wake(const void *condition)
{
	for (unsigned int i = 0; i < THREADS_MAX; i++)
		if (threads[i].condition == condition)
			threads[i].condition = NULL;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
	void *(*run)(void *argument), void *argument);
int __wrap_pthread_join(pthread_t handle, void **result);
int __wrap_pthread_setname_np(pthread_t handle, const char *name);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_signal(pthread_cond_t *condition);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_poll(struct pollfd *waiting, nfds_t count, int milliseconds);

int __wrap_pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
	void *(*run)(void *argument), void *argument)
{
	struct thread *thread = threads;

	fuzz_check(!attributes);
	while (thread->state != STATE_NONE)
		fuzz_check(++thread < threads + THREADS_MAX);
	thread->run = run;
	thread->argument = argument;
	prepare(thread);
	*handle = (pthread_t)(thread - threads) + 1;
	return 0;
}

int __wrap_pthread_join(pthread_t handle, void **result)
{
	struct thread *thread = &threads[handle - 1];

	fuzz_check(!running && !result && thread->state != STATE_NONE);
	threads_settle(0);
	/* Joining a thread that waits forever would never return. */
	fuzz_check(thread->state == STATE_ENDED);
	thread->state = STATE_NONE;
	return 0;
}

int __wrap_pthread_setname_np(pthread_t handle, const char *name)
{
	fuzz_check(threads[handle - 1].state != STATE_NONE && strlen(name) < 16);
	return 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	/* In the target itself this would block forever. */
	fuzz_check(running);
	running->condition = condition;
	pthread_mutex_unlock(mutex);
	leave(STATE_AWAITS_CONDITION);
	pthread_mutex_lock(mutex);
	return 0;
}

/* Wakes all waiters, as POSIX allows. */
int __wrap_pthread_cond_signal(pthread_cond_t *condition)
{
	wake(condition);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition)
{
	wake(condition);
	return 0;
}

int __wrap_poll(struct pollfd *waiting, nfds_t count, int milliseconds)
{
	int ready = poll_at_once(waiting, count);

	if (ready != 0 || milliseconds == 0)
		return ready;
	fuzz_check(running);
	running->polled = waiting;
	running->polled_count = count;
	running->wake = milliseconds < 0 ? INT64_MAX : atomic_load(&fake.now) + milliseconds;
	leave(STATE_POLLS);
	return poll_at_once(waiting, count);
}
/* NOLINTEND(bugprone-reserved-identifier) */
