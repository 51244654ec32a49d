/*
 * The opener opens the server's input for one client after another on its own thread, so that a
 * file system that does not respond delays only the clients that wait for the input. There is one
 * thread, however many clients wait or have given up waiting, because all of them get the same
 * input. It also closes what it opened for a client that no longer needs it.
 *
 * A system call that waits for such a file system cannot be stopped. The thread is therefore not
 * joined while it opens or closes the input: it frees the opener once the call returns.
 *
 * Only the main thread calls these functions. None of them waits for a file.
 */
#ifndef SERVE_OPENER_H
#define SERVE_OPENER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/failure.h"
#include "base/wakeup-queue.h"
#include "exchange/settings.h"
#include "stream/source.h"

/* The event that reports an opening to the main thread: source or failure is set. */
#define OPENING_DONE (1U << 17)

struct opener;

/* One request, which its client owns. Zero until opener_open(). */
struct opening {
	TAILQ_ENTRY(opening) next;
	bool waiting; /* in the opener's queue */
	struct wakeup wakeup;
	struct source *source;  /* the opened input, to be taken by the client */
	struct failure failure; /* set if it could not be opened */
};

/*
 * Starts the thread. It reads only a copy of the settings, but the strings that they point to must
 * exist until the process ends. Returns 0, or -1 with the failure recorded.
 */
int opener_start(
	struct opener **opener, const struct exchange_settings *settings, struct failure *failure);

/* Opens the input, and then posts OPENING_DONE about this object to settings->wakeups. */
void opener_open(struct opener *opener, struct opening *opening, void *about);

/*
 * Ends the request, whatever its state: no event follows, and the thread closes a source not
 * taken. The opener may be NULL if it could not be started.
 */
void opener_cancel(struct opener *opener, struct opening *opening);

/* The thread closes a source that was taken but never started. NULL is allowed. */
void opener_close(struct opener *opener, struct source *source);

/*
 * Ends the thread, or abandons it while it has the input to open or to close. No request may exist.
 * NULL is allowed.
 */
void opener_stop(struct opener *opener);

#endif
