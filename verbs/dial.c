/* Connects to a server: see verbs/dial.h, which also documents ownership. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/channel.h"
#include "verbs/dial.h"
#include "verbs/rdmacm-dial.h"
#include "verbs/tcp-dial.h"

/*
 * Timeout in milliseconds of one attempt to resolve an address. Attempts are short because the
 * kernel may miss a neighbour's reply and check again only when the attempt times out.
 */
#define RESOLVE_MS 1000

/* Milliseconds between attempts to connect to a full server. */
#define RETRY_WHEN_FULL_MS 500

static const struct dial_way *way_of(const struct dial *dial)
{
	return dial->path ? &dial_by_tcp : &dial_by_rdmacm;
}

int dial_resolve(struct dial *dial, const struct sockaddr *address, const struct sockaddr *source,
	int milliseconds)
{
	const struct dial_way *way = way_of(dial);

	dial->bootstrap = way->bootstrap;
	dial->address = address;
	dial->id = NULL;
	dial->channel = channel_open(dial->bootstrap->channel_kind, &dial->failure);
	if (!dial->channel)
		return -1;
	if (way->resolve(dial, source, milliseconds) == 0)
		return 0;
	if (dial->id)
		dial->bootstrap->destroy(dial->id);
	channel_destroy(dial->channel);
	return -1;
}

int dial_connect(struct dial *dial, struct event_copy *reply)
{
	struct rdma_conn_param parameters = {0};

	dial->failure = (struct failure){0}; /* clear a previous address's failure */
	if (dial->prepare(dial->user, dial->channel, dial->id, &parameters, &dial->failure) == 0 &&
		way_of(dial)->request(dial, &parameters, reply) == 0)
		return 0;
	dial->discard(dial->user, &dial->failure);
	return -1;
}

int dial_address(struct dial *dial, struct event_copy *reply)
{
	const struct sockaddr *address = dial->server.address->ai_addr;
	int left = deadline_left(dial->deadline);
	char text[ADDRESS_TEXT_SIZE];
	struct sockaddr_storage source;

	address_port_text(address, text);
	output_detail(dial->output, "trying %s", text);
	/* By TCP, any local address will do: the path has the device. */
	if (dial->path)
		dial->server.device = NULL;
	if (server_addresses_source(&dial->server, address->sa_family, &source, &dial->failure) ||
		dial_resolve(dial, address, address_or_none(&source),
			left < RESOLVE_MS ? left : RESOLVE_MS))
		return -1;
	return dial_connect(dial, reply);
}

/*
 * Moves on to the server's next address if this one failed: the server may be listening there.
 * Returns false if no address or no time is left.
 */
static bool try_next_address(struct dial *dial)
{
	const struct failure *failure = &dial->failure;
	bool resolving = failure->phase == PHASE_ADDRESS || failure->phase == PHASE_ROUTE;

	if (failure->kind == FAILURE_INTERRUPTED || failure_is_full(failure) ||
		deadline_left(dial->deadline) == 0 ||
		(!resolving && failure->phase != PHASE_CONNECT))
		return false;
	return server_addresses_next(&dial->server, resolving && failure->code == ETIMEDOUT);
}

int dial_server(struct dial *dial, struct event_copy *reply)
{
	while (dial_address(dial, reply))
		if (!try_next_address(dial))
			return -1;
	return 0;
}

bool dial_wait_for_slot(struct dial *dial)
{
	struct pollfd stop = {.fd = dial->stop_fd, .events = POLLIN};

	if (!failure_is_full(&dial->failure)) {
		/* The earlier refusal is more informative than the last attempt's timeout. */
		if (failure_is_set(&dial->refused) && deadline_left(dial->deadline) == 0)
			dial->failure = dial->refused;
		return false;
	}
	if (deadline_left(dial->deadline) <= RETRY_WHEN_FULL_MS)
		return false;
	if (!failure_is_set(&dial->refused))
		output_line(dial->output, "server is full; retrying.");
	dial->refused = dial->failure;
	dial->failure = (struct failure){0};
	/* A signal also interrupts this wait; the next attempt reports it. */
	poll(&stop, 1, RETRY_WHEN_FULL_MS);
	return true;
}
