#include "course.h"

void course_init(struct course *course, uint64_t now)
{
	*course = (struct course){.start = now, .lock = PTHREAD_MUTEX_INITIALIZER};
	intervals_init(&course->intervals, now);
}

void course_note(struct course *course, uint64_t now, uint64_t bytes)
{
	pthread_mutex_lock(&course->lock);
	/* Another thread, with a later time, may have got the lock first. */
	if (now < course->intervals.last)
		now = course->intervals.last;
	course->bytes += bytes;
	intervals_note(&course->intervals, now, course->bytes);
	pthread_mutex_unlock(&course->lock);
}

struct intervals course_intervals(struct course *course)
{
	struct intervals intervals;

	pthread_mutex_lock(&course->lock);
	intervals = course->intervals;
	pthread_mutex_unlock(&course->lock);
	return intervals;
}
