/*
 * The state of a file that is read, by which a change meanwhile is seen: what was read before and
 * after it may be a mixture that the file never contained. Any thread.
 */
#ifndef STREAM_FILE_STATE_H
#define STREAM_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* Why such a file is not sent. */
#define FILE_STATE_CHANGED   "it changed while being read"
#define FILE_STATE_TRUNCATED "file was truncated while being read"

struct file_state {
	uint64_t size;
	struct timespec modified;
};

/* True if two times of files are the same, to the nanosecond. */
bool file_state_same_time(const struct timespec *a, const struct timespec *b);

struct file_state file_state_of(const struct stat *status);

/*
 * Call it before the first read: if the file was written just now, waits until a change would give
 * it another time, up to 2 seconds, or until stop_fd becomes readable. Otherwise, what is read
 * might change, and look the same ever after.
 */
void file_state_settle(const struct file_state *state, int stop_fd);

/* Call it after the last read. Returns true if the open file is still in this state. */
bool file_state_lasts(const struct file_state *state, int file);

/* Returns true if it has become larger, as a log does: what it had before is likely to last. */
bool file_state_grew(const struct file_state *state, int file);

#endif
