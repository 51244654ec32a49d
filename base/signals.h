/* SIGINT and SIGTERM as a descriptor for poll(2). Main thread, before any other thread starts. */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

/*
 * Blocks SIGINT and SIGTERM for all threads and returns a descriptor to read them, or -errno. The
 * caller closes it. Also ignores SIGPIPE and SIGXFSZ, so that write(2) fails instead. signalfd(2).
 */
int signals_open(void);

/* Reads a signal from the descriptor. Returns its number, 0 if none is pending. */
int signals_read(int descriptor);

/*
 * The last call of main(). If one of these signals is pending or, unless it is 0, was read, ends
 * the process by it, so that a shell that runs the program in a loop stops as well. Otherwise
 * returns the exit status. The kernel protects process 1 of a PID namespace from its own signals:
 * there, returns 128 plus the signal's number, as a shell reports it.
 */
int signals_end(int read, int status);

#endif
