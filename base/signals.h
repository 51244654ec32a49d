/*
 * SIGINT and SIGTERM as a descriptor that can be polled. Main thread, before any other thread
 * starts.
 */
#ifndef BASE_SIGNALS_H
#define BASE_SIGNALS_H

/*
 * Blocks SIGINT and SIGTERM for all threads and returns a descriptor to read them, or -errno. The
 * caller closes it. SIGPIPE and SIGXFSZ are ignored from then on: they become errors of the write.
 * signalfd(2).
 */
int signals_open(void);

/* Reads a signal from that descriptor: its number, 0 if none waits. */
int signals_read(int descriptor);

#endif
