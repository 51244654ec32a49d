/* See stream/file-state.h. */
#include <poll.h>

#include "stream/file-state.h"

/*
 * Times of files advance in steps: by the kernel's tick, or by up to two seconds if the file system
 * has none finer.
 */
#define STEP_MS        20
#define COARSE_STEP_MS 2000

bool file_state_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

struct file_state file_state_of(const struct stat *status)
{
	return (struct file_state){.size = (uint64_t)status->st_size, .modified = status->st_mtim};
}

void file_state_settle(const struct file_state *state, int stop_fd)
{
	const struct timespec *modified = &state->modified;
	int64_t step = modified->tv_nsec ? STEP_MS : COARSE_STEP_MS, age;
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (modified->tv_sec > now.tv_sec || modified->tv_sec < now.tv_sec - 2)
		return;
	age = (now.tv_sec - modified->tv_sec) * 1000 + (now.tv_nsec - modified->tv_nsec) / 1000000;
	if (age >= 0 && age < step)
		poll(&stop, 1, (int)(step - age));
}

bool file_state_lasts(const struct file_state *state, int file)
{
	struct stat status;

	return fstat(file, &status) == 0 && (uint64_t)status.st_size == state->size &&
	       file_state_same_time(&status.st_mtim, &state->modified);
}

bool file_state_grew(const struct file_state *state, int file)
{
	struct stat status;

	return fstat(file, &status) == 0 && (uint64_t)status.st_size > state->size;
}
