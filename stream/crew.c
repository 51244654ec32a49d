/*
 * A crew's threads live as long as crew_run(), on whose stack their descriptions are.
 */
#include <pthread.h>

#include "stream/crew.h"

struct member {
	pthread_t thread;
	void (*work)(void *argument, unsigned int number);
	void *argument;
	unsigned int number;
};

static void *run(void *argument)
{
	const struct member *member = argument;

	member->work(member->argument, member->number);
	return NULL;
}

unsigned int crew_run(unsigned int count, const char *name,
	void (*work)(void *argument, unsigned int number), void *argument)
{
	struct member members[CREW_MAX];
	unsigned int started = 1, joined;

	for (; started < count && started < CREW_MAX; started++) {
		members[started] =
			(struct member){.work = work, .argument = argument, .number = started};
		if (pthread_create(&members[started].thread, NULL, run, &members[started]))
			break;
		pthread_setname_np(members[started].thread, name);
	}
	work(argument, 0);
	for (joined = 1; joined < started; joined++)
		pthread_join(members[joined].thread, NULL);
	return started;
}
