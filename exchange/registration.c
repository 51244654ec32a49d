/*
 * Registers the memory that the peer will access. It was only mapped when the connection was
 * created, because the peer was not yet authenticated (exchange/authentication.c).
 *
 * The kernel allocates, clears and pins every page, which takes about a second for a few gigabytes.
 * More than INLINE_MAX bytes are registered by a worker thread, so that they do not block the CQ
 * thread, which serves all exchanges on the device. Deregistration, which only unpins the pages,
 * takes 1/25 of that time, and less with huge pages; it has no worker.
 *
 * From registration_begin() to THREAD_REGISTERED, the regions' registrations and
 * `registration.failure` belong to the worker; the CQ thread owns the rest of the connection. The
 * main thread joins the worker in connection_destroy(), so the memory is not freed before the
 * worker has ended, whatever happens to the exchange.
 */
#include "exchange/internal.h"

/* The CQ thread registers up to this many bytes itself. */
#define INLINE_MAX ((size_t)1 << 20)

/* Registers the remaining regions. Returns 0, or -1 with the failure recorded. */
static int register_regions(struct connection *connection, struct failure *failure)
{
	struct region *regions[] = {&connection->outgoing, &connection->incoming};
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(regions) / sizeof(regions[0]); i++)
		if (!regions[i]->mr)
			error = region_register(regions[i], connection->endpoint.pd, failure);
	return error;
}

/* The number of bytes that are not registered yet. */
static size_t remaining(const struct connection *connection)
{
	const struct region *outgoing = &connection->outgoing, *incoming = &connection->incoming;

	return (outgoing->mr ? 0 : outgoing->mapped) + (incoming->mr ? 0 : incoming->mapped);
}

static void run(void *argument)
{
	struct connection *connection = argument;

	register_regions(connection, &connection->registration.failure);
	wakeup_queue_post(&connection->device->wakeups, &connection->to_thread, THREAD_REGISTERED);
}

static void ended(void *about)
{
	struct connection *connection = about;

	wakeup_queue_post(
		connection->settings->wakeups, &connection->to_main, CONNECTION_REGISTRATION_ENDED);
}

/* Returns false if the thread cannot be started. */
static bool start_worker(struct connection *connection)
{
	struct registration *registration = &connection->registration;

	registration->listener = (struct worker_listener){
		.ended = ended,
		.about = connection,
		.processors = locality_processors(&connection->device->locality),
	};
	registration->pending = worker_start(&registration->worker, "register", run, connection,
					&registration->listener) == 0;
	return registration->pending;
}

enum exchange_event registration_begin(struct connection *connection)
{
	if (remaining(connection) > INLINE_MAX && start_worker(connection))
		return EVENT_NONE;
	return register_regions(connection, &connection->failure) ? EVENT_ABORTED : EVENT_NONE;
}

enum exchange_event registration_end(struct connection *connection)
{
	struct registration *registration = &connection->registration;

	registration->pending = false;
	if (!failure_is_set(&registration->failure))
		return EVENT_NONE;
	if (!failure_is_set(&connection->failure))
		connection->failure = registration->failure;
	return EVENT_ABORTED;
}
