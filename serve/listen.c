/* Resolves the server's addresses, binds and listens: see serve/listen.h. */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/explain.h"
#include "base/text.h"
#include "host/device-address.h"
#include "host/own-addresses.h"
#include "host/readiness.h"
#include "host/stack-table.h"
#include "serve/listen.h"
#include "verbs/path-candidates.h"
#include "verbs/tcp-bootstrap.h"

/* Maximum number of pending connection requests; the kernel allows at most max_backlog, 1024. */
#define BACKLOG 1024

/* Ports that the system chose for IPv6 and that may turn out to be in use for IPv4. */
#define PORT_TRIES 16

/* Addresses of this host that a server without rdmacm shows. */
#define OWN_ADDRESSES 8

int listen_find_addresses(
	const struct options *options, struct listen_addresses *addresses, struct failure *failure)
{
	char evidence[sizeof(failure->evidence)];
	struct addrinfo *list;
	enum readiness lacking;
	int error;

	*addresses = (struct listen_addresses){0};
	if (!options->bind && options->device && options->bootstrap != BOOTSTRAP_TCP) {
		lacking = device_address_find("", options->device, AF_UNSPEC, &addresses->all[0]);
		if (lacking != HOST_READY) {
			lacking = device_address_explain(
				"", options->device, lacking, evidence, sizeof(evidence));
			return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, (int)lacking,
				"--device", "%s", evidence);
		}
		address_set_port(&addresses->all[0], options->port);
		addresses->count = 1;
		return 0;
	}
	error = address_find(options->bind ? options->bind : "::", options->port, AF_UNSPEC,
		(int)options->timeout, &list);
	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	for (const struct addrinfo *a = list; a && addresses->count < LISTEN_ADDRESSES_MAX;
		a = a->ai_next)
		memcpy(&addresses->all[addresses->count++], a->ai_addr, a->ai_addrlen);
	freeaddrinfo(list);
	return 0;
}

static bool is_wildcard(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	return address->sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr)
					      : v4->sin_addr.s_addr == INADDR_ANY;
}

/* Destroys all listeners but the first ones. */
static void stop_after(struct listeners *listeners, unsigned int count)
{
	struct rdma_cm_id *last;

	while (listeners->count > count) {
		last = listeners->all[--listeners->count];
		bootstrap_of(last)->destroy(last);
	}
}

/* Records that the address has no RDMA device, what it is, and which addresses have one. */
static int lacks_device(const struct options *options, const struct sockaddr_storage *address,
	struct failure *failure)
{
	char text[ADDRESS_TEXT_SIZE], others[sizeof(failure->evidence)] = "";
	enum readiness lacking = readiness_of_support("", options->device, others, sizeof(others));
	bool named;

	if (lacking != HOST_READY)
		return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, (int)lacking,
			"rdma_bind_addr", "%s", others);
	address_text((const struct sockaddr *)address, text);
	named = options->bind && strcmp(options->bind, text) != 0;
	device_address_list("", others, sizeof(others));
	return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, ENODEV, "rdma_bind_addr",
		"%s%s%s%sRDMA addresses of this host: %s", named ? options->bind : "",
		named ? " is " : "", named ? text : "", named ? "; " : "", others);
}

/* What listeners are made of. */
struct listening {
	const struct options *options;
	const struct output *output;
	struct cm_channel *channel;
};

/*
 * Adds a listener on one address: a wildcard for its own family, or an address of an RDMA device
 * (of --device, if given).
 */
static int listen_by_rdmacm(const struct listening *listening,
	const struct sockaddr_storage *address, struct listeners *listeners,
	struct failure *failure)
{
	const struct options *options = listening->options;
	struct rdma_cm_id *listener;
	int one_family = 1, error;
	const char *device;

	if (rdma_create_id(listening->channel->rdmacm, &listener, NULL, RDMA_PS_TCP))
		return failure_errno(failure, PHASE_OPEN, "rdma_create_id", errno);
	listeners->all[listeners->count++] = listener;
	/* Otherwise, a RoCE listener on "::" takes the port for both families. */
	rdma_set_option(
		listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one_family, sizeof(one_family));
	error = rdma_bind_addr(listener, (struct sockaddr *)address) ? errno : 0;
	/* For the wildcard, the kernel reports a port in use as an unavailable address. */
	if (error == EADDRNOTAVAIL && is_wildcard((const struct sockaddr *)address))
		error = EADDRINUSE;
	/* The kernel accepts loopback addresses, although no client can reach them by RDMA. */
	if (!error && !listener->verbs && !is_wildcard((const struct sockaddr *)address))
		error = ENODEV;
	if (error == ENODEV)
		return lacks_device(options, address, failure);
	if (error)
		return failure_errno(failure, PHASE_LISTEN, "rdma_bind_addr", error);
	device = listener->verbs ? ibv_get_device_name(listener->verbs->device) : NULL;
	if (options->device && device && strcmp(options->device, device) != 0)
		return failure_set(failure, FAILURE_HOST, PHASE_LISTEN, HOST_OTHER_DEVICE,
			"--device", "it belongs to %s", device);
	if (id_set_dscp(listener, options->dscp, failure))
		return -1;
	if (rdma_listen(listener, BACKLOG))
		return failure_errno(failure, PHASE_LISTEN, "rdma_listen", errno);
	return 0;
}

/* Adds a listener for clients without rdmacm: any address of this host will do. */
static int listen_by_tcp(const struct listening *listening, const struct sockaddr_storage *address,
	struct listeners *listeners, struct failure *failure)
{
	int error = tcp_listen(listening->channel->tcp, (const struct sockaddr *)address,
		&listening->options->path, listening->output, &listeners->all[listeners->count]);

	if (error)
		return failure_set(failure, FAILURE_ERRNO, PHASE_LISTEN, -error, "bind", "TCP: %s",
			strerror(-error));
	listeners->count++;
	return 0;
}

/* One of the two functions above. */
typedef int listen_on(const struct listening *listening, const struct sockaddr_storage *address,
	struct listeners *listeners, struct failure *failure);

/*
 * Listens on the IPv6 wildcard with this address and port, and on the IPv4 wildcard. A host may
 * lack IPv6.
 */
static int listen_on_all(const struct listening *listening, listen_on *listen_at,
	const struct sockaddr_storage *address, struct listeners *listeners,
	struct failure *failure)
{
	const uint16_t port = ((const struct sockaddr_in6 *)address)->sin6_port;
	const unsigned int before = listeners->count;
	struct sockaddr_storage v4 = {.ss_family = AF_INET};

	for (int tries = PORT_TRIES; tries > 0; tries--) {
		if (listen_at(listening, address, listeners, failure)) {
			if (failure->code != EAFNOSUPPORT)
				return -1;
			*failure = (struct failure){0};
			address_set_port(&v4, ntohs(port));
			return listen_at(listening, &v4, listeners, failure);
		}
		address_set_port(&v4, ntohs(rdma_get_src_port(listeners->all[before])));
		if (listen_at(listening, &v4, listeners, failure) == 0)
			return 0;
		if (port || failure->code != EADDRINUSE)
			return -1;
		stop_after(listeners, before);
		*failure = (struct failure){0};
	}
	return failure_errno(failure, PHASE_LISTEN, "rdma_bind_addr", EADDRINUSE);
}

/* Listens in this way on the first address that works. */
static int listen_this_way(const struct listening *listening, listen_on *listen_at,
	const struct listen_addresses *addresses, struct listeners *listeners,
	struct failure *failure)
{
	const unsigned int before = listeners->count;
	const struct sockaddr_storage *address;
	int error = -1;

	for (unsigned int i = 0; error && i < addresses->count; i++) {
		address = &addresses->all[i];
		error = address->ss_family == AF_INET6 &&
					is_wildcard((const struct sockaddr *)address)
				? listen_on_all(listening, listen_at, address, listeners, failure)
				: listen_at(listening, address, listeners, failure);
		if (error)
			stop_after(listeners, before);
		else
			*failure = (struct failure){0}; /* from a previous address */
	}
	return error;
}

/*
 * Where TCP listens: not only on an address of --device. With rdmacm's listeners, on the same port,
 * and on their address of a --bind host name that has several.
 */
static struct listen_addresses tcp_addresses(const struct options *options,
	const struct listen_addresses *addresses, const struct listeners *listeners)
{
	struct listen_addresses tcp = *addresses;
	const struct sockaddr *bound;

	if (options->bind && listeners->count > 0) {
		bound = listeners_address(listeners);
		memcpy(&tcp.all[0], bound, address_length(bound));
		tcp.count = 1;
		return tcp;
	}
	if (!options->bind && options->device) {
		tcp.count = 2;
		tcp.all[0] = (struct sockaddr_storage){.ss_family = AF_INET6};
		tcp.all[1] = (struct sockaddr_storage){.ss_family = AF_INET};
	}
	for (unsigned int i = 0; i < tcp.count; i++)
		address_set_port(&tcp.all[i],
			listeners->count > 0 ? listeners_port(listeners) : options->port);
	return tcp;
}

int listen_start(const struct options *options, const struct output *output,
	const struct listen_addresses *addresses, struct cm_channel *channel,
	struct listeners *listeners, struct failure *failure)
{
	const struct listening listening = {options, output, channel};
	struct listen_addresses tcp;

	for (int tries = PORT_TRIES; tries > 0; tries--) {
		*failure = (struct failure){0};
		if (options->bootstrap != BOOTSTRAP_TCP &&
			listen_this_way(
				&listening, listen_by_rdmacm, addresses, listeners, failure))
			return -1;
		if (options->bootstrap == BOOTSTRAP_RDMACM)
			return 0;
		tcp = tcp_addresses(options, addresses, listeners);
		if (listen_this_way(&listening, listen_by_tcp, &tcp, listeners, failure) == 0)
			return 0;
		listeners_stop(listeners);
		/* A port that rdmacm chose may be in use for TCP. */
		if (options->port || failure->code != EADDRINUSE)
			break;
	}
	return -1;
}

void listeners_stop(struct listeners *listeners)
{
	stop_after(listeners, 0);
}

bool listeners_include(const struct listeners *listeners, const struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < listeners->count; i++)
		if (listeners->all[i] == id)
			return true;
	return false;
}

const struct sockaddr *listeners_address(const struct listeners *listeners)
{
	return rdma_get_local_addr(listeners->all[0]);
}

uint16_t listeners_port(const struct listeners *listeners)
{
	return ntohs(rdma_get_src_port(listeners->all[0]));
}

/*
 * Software iWARP binds a listener on all addresses to the device's own interface, so it accepts no
 * client of an address on an interface above: siw_create_listen().
 */
static void warn_of_unserved(const struct inventory_device *device,
	const struct inventory_interface *interface, const struct output *output)
{
	char text[160];

	if (strcmp(device->driver, "siw") != 0 || interface->stack.count < 2 ||
		interface->address_count == 0)
		return;
	stack_table_describe(
		interface->addresses[0].text, interface, device->name, text, sizeof(text));
	output_warning(
		output, "%s is not served without --bind %s", text, interface->addresses[0].text);
}

/* Warns of addresses that a listener on all addresses does not serve. */
static void check_addresses(const struct options *options, const struct inventory *inventory,
	const struct output *output)
{
	if (options->bind || options->device || output->quiet)
		return;
	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		for (size_t j = 0; j < device->port_count; j++)
			for (size_t k = 0; k < device->ports[j].interface_count; k++)
				warn_of_unserved(device, &device->ports[j].interfaces[k], output);
	}
}

/* Checks that the entries that --gid-index, --pkey-index and --ib-port name exist. */
static int check_path(const struct options *options, struct failure *failure)
{
	static const struct sockaddr_in any = {.sin_family = AF_INET};
	const struct path_settings *path = &options->path;
	struct path_candidates candidates;

	if (options->bootstrap == BOOTSTRAP_RDMACM ||
		(path->gid_index < 0 && path->pkey_index == 0 && path->port == 0) ||
		path_candidates_find(path, (const struct sockaddr *)&any, &candidates, failure) ==
			0)
		return 0;
	failure->phase = PHASE_LISTEN;
	return -1;
}

/* TCP may arrive at any of this host's addresses: an RDMA port needs none. */
static void list_own_addresses(char list[LISTEN_LIST_SIZE])
{
	struct own_address all[OWN_ADDRESSES];
	unsigned int count = own_addresses(all, OWN_ADDRESSES);
	char text[ADDRESS_TEXT_SIZE];

	for (unsigned int i = 0; i < count; i++) {
		address_text((struct sockaddr *)&all[i].address, text);
		text_append(
			list, LISTEN_LIST_SIZE, "%s%s (%s)", i ? ", " : "", text, all[i].interface);
	}
}

int listen_check_host(const struct options *options, const struct output *output,
	char addresses[LISTEN_LIST_SIZE], struct failure *failure)
{
	struct failure found = {0};
	struct inventory inventory;
	enum readiness lacking;
	char evidence[sizeof(found.evidence)], text[OUTPUT_FAILURE_SIZE];

	*addresses = '\0';
	if (check_path(options, failure))
		return -1;
	if (inventory_take("", NULL, &inventory))
		return 0;
	device_address_list_of(&inventory, options->device, addresses, LISTEN_LIST_SIZE);
	if (options->bootstrap == BOOTSTRAP_TCP && !*addresses)
		list_own_addresses(addresses);
	lacking = readiness_check(&inventory, options->device, evidence, sizeof(evidence));
	check_addresses(options, &inventory, output);
	inventory_free(&inventory);
	if (lacking == HOST_READY ||
		(options->bootstrap == BOOTSTRAP_TCP && readiness_is_of_rdmacm(lacking)))
		return 0;
	failure_set(
		&found, FAILURE_HOST, PHASE_OPEN, (int)lacking, "readiness_check", "%s", evidence);
	if (lacking == HOST_NO_ACCESS || lacking == HOST_NO_UVERBS ||
		lacking == HOST_LOCKED_MEMORY) {
		*failure = found;
		return -1;
	}
	/* No failure yet: clients may come through devices that appear later. */
	if (!output->quiet) {
		explain_failure(&found, NULL, output->verbose, text, sizeof(text));
		output_warning(output, "%s", text);
	}
	return 0;
}

/* The first address of a list, or the one that the server listens on. "": none for other hosts. */
static void choose_address(
	const struct sockaddr *listening, const char *list, char address[ADDRESS_TEXT_SIZE])
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)listening;

	if (is_wildcard(listening))
		snprintf(address, ADDRESS_TEXT_SIZE, "%.*s", (int)strcspn(list, " "), list);
	else if (listening->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		*address = '\0'; /* the other host's interface is unknown */
	else
		address_text(listening, address);
}

void listen_show_addresses(const struct options *options, const struct output *output,
	const struct sockaddr *listening, const char *list, uint16_t port)
{
	const char *secret = options->secret_file;
	char address[ADDRESS_TEXT_SIZE], line[LISTEN_LIST_SIZE + PATH_MAX];

	if (is_wildcard(listening) && *list) {
		snprintf(line, sizeof(line), "addresses: %s.", list);
		output_result(output, NULL, line);
	}
	choose_address(listening, list, address);
	if (!*address)
		return;
	snprintf(line, sizeof(line), "on another host: rdma-client %s%s %s %u%s%s%s",
		options->mode ? options->mode->name : "write",
		options->bootstrap == BOOTSTRAP_TCP ? " --bootstrap tcp" : "", address, port,
		options->input ? " --output ./" : "", secret ? " --secret-file " : "",
		secret ? secret : "");
	output_result(output, NULL, line);
}

const char *listen_name(const struct options *options)
{
	if (options->bind)
		return options->bind;
	return options->device ? options->device : "all addresses";
}
