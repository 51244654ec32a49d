/*
 * A program that an agent or a coordinator runs: with pipes from its output, which are read without
 * waiting and up to a limit, in a process group of its own, and ended by the kernel when this
 * process ends: prctl(2), PR_SET_PDEATHSIG. Main thread.
 */
#ifndef MESH_CHILD_H
#define MESH_CHILD_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/deadline.h"

/* What is kept of standard output, and of standard error: its beginning. */
#define CHILD_TEXT_MAX   65536
#define CHILD_ERRORS_MAX 4096

/* The descriptor as which a child gets the file `pass`, and its path there. */
#define CHILD_PASSED      3
#define CHILD_PASSED_PATH "/proc/self/fd/3"

struct child {
	pid_t process;      /* 0: none */
	int input;          /* its standard input; -1: closed */
	int output, errors; /* what it prints; -1: ended */
	char *text;         /* standard output so far, terminated */
	size_t text_used;
	char error_text[CHILD_ERRORS_MAX];
	size_t error_used;
	int status;         /* its exit status once it has ended, or 128 plus a signal */
	deadline_t killing; /* when it will be killed, after child_end() */
	bool ending;
};

/* A child that was never started, or was freed. */
#define CHILD_NONE ((struct child){.input = -1, .output = -1, .errors = -1})

/*
 * Starts words[0], found in PATH, with these words. takes_input: its standard input is a pipe,
 * otherwise empty. keeps_errors: standard error is read, otherwise it is this process's. pass: a
 * file that it gets as descriptor CHILD_PASSED; -1: none. Returns 0 or -errno, for example -ENOENT.
 */
int child_start(struct child *child, const char *const words[], bool takes_input, bool keeps_errors,
	int pass);

/* True while the process may run. */
bool child_runs(const struct child *child);

/*
 * Reads what the pipes have, and takes note of the end of the process. Returns true when it has
 * ended, once: the texts and the status stay until child_free().
 */
bool child_check(struct child *child);

/*
 * Adds the descriptors for which child_check() waits, at most two, and returns their number. Lowers
 * *milliseconds, a timeout for poll(2), if the child must be checked without an event.
 */
size_t child_poll(const struct child *child, struct pollfd polled[2], int *milliseconds);

/* Closes its input. */
void child_close_input(struct child *child);

/* Asks its process group to end, by SIGTERM; child_check() kills it after two seconds. */
void child_end(struct child *child);

/*
 * True if the process has been killed and still exists: it is inside a system call that no signal
 * interrupts.
 */
bool child_is_stuck(const struct child *child);

/*
 * Calls child_end(), waits until the process has ended, or is stuck, and frees everything. One that
 * is stuck ends with its system call.
 */
void child_free(struct child *child);

/* The path of a program of this project: beside this one, or else its name, to be found in PATH. */
void child_own_program(const char *name, char *path, size_t size);

#endif
