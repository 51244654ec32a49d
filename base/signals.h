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

#endif
