/*
 * Listening on all addresses, on devices with each personality. The test replaces the functions of
 * rdmacm: the kernel's rules for ports (cma_check_port() in cma.c) and the device's choice of
 * clients.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/listen.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/common/personality.h"
#include "tests/unit/unit.h"

#define IDS_MAX  4
#define ANY_PORT 40000

struct listener {
	struct rdma_cm_id id;
	bool one_family, bound, listens;
};

static struct listener *ids[IDS_MAX];
static const struct personality *device;

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	enum rdma_port_space space)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	unsigned int i = 0;

	(void)channel, (void)context, (void)space;
	assert_non_null(listener);
	while (ids[i])
		i++;
	assert_true(i < IDS_MAX);
	ids[i] = listener;
	*id = &listener->id;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < IDS_MAX; i++)
		if (ids[i] && &ids[i]->id == id)
			ids[i] = NULL;
	free(id);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int option, void *value, size_t size)
{
	assert_true(level == RDMA_OPTION_ID && option == RDMA_OPTION_ID_AFONLY);
	assert_int_equal(size, sizeof(int));
	((struct listener *)id)->one_family = *(int *)value;
	return 0;
}

static sa_family_t family_of(const struct listener *listener)
{
	return listener->id.route.addr.src_addr.sa_family;
}

static bool conflicts(const struct listener *one, const struct listener *other)
{
	return other->bound &&
	       rdma_get_src_port((struct rdma_cm_id *)&one->id) ==
		       rdma_get_src_port((struct rdma_cm_id *)&other->id) &&
	       !(one->one_family && other->one_family && family_of(one) != family_of(other));
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	struct listener *listener = (struct listener *)id;
	bool v6 = address->sa_family == AF_INET6;

	memcpy(&id->route.addr.src_storage, address,
		v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
	if (rdma_get_src_port(id) == 0)
		id->route.addr.src_sin.sin_port = htons(ANY_PORT);
	for (unsigned int i = 0; i < IDS_MAX; i++)
		if (ids[i] && ids[i] != listener && conflicts(listener, ids[i])) {
			errno = EADDRNOTAVAIL;
			return -1;
		}
	listener->bound = true;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	assert_true(((struct listener *)id)->bound && backlog > 0);
	((struct listener *)id)->listens = true;
	return 0;
}

static bool accepts(const struct listener *listener, sa_family_t family)
{
	bool both = !device->one_family && !listener->one_family;

	return listener->listens && (both || family_of(listener) == family);
}

/* Returns the number of listeners that accept a client of this address family on this port. */
static unsigned int accepting(sa_family_t family, uint16_t port)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < IDS_MAX; i++)
		count += ids[i] && ntohs(rdma_get_src_port(&ids[i]->id)) == port &&
			 accepts(ids[i], family);
	return count;
}

static void listen_on_port(uint16_t port)
{
	const struct options options = {.port = port, .timeout = 1000, .dscp = -1};
	struct listen_addresses addresses;
	struct listeners listeners = {0};
	const struct output output = {0};
	struct cm_channel channel = {0};
	struct failure failure = {0};

	assert_int_equal(listen_find_addresses(&options, &addresses, &failure), 0);
	assert_int_equal(
		listen_start(&options, &output, &addresses, &channel, &listeners, &failure), 0);
	assert_int_equal(listeners_port(&listeners), port ? port : ANY_PORT);
	assert_int_equal(accepting(AF_INET, listeners_port(&listeners)), 1);
	assert_int_equal(accepting(AF_INET6, listeners_port(&listeners)), 1);
	listeners_stop(&listeners);
	for (unsigned int i = 0; i < IDS_MAX; i++)
		assert_null(ids[i]);
}

/* Clients of both address families reach the server, on a given and on a chosen port. */
static void listens(const struct personality *personality)
{
	device = personality;
	listen_on_port(7471);
	listen_on_port(0);
}

/* What can be copied to another host, if the server can be reached from there. */
static int show(void)
{
	static const char two[] = "10.0.0.1 (mlx5_0, eth2), fd00::1 (mlx5_0, eth2)";
	struct sockaddr_in any = {.sin_family = AF_INET}, bound = any;
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6}, local = any6;
	const struct {
		struct options options;
		const struct sockaddr *listening;
		const char *list;
	} cases[] = {
		{{.mode = mode_by_name("read")}, (struct sockaddr *)&any6, two},
		{{.secret_file = "/etc/key", .input = "photos"}, (struct sockaddr *)&any, two},
		{{0}, (struct sockaddr *)&bound, two},
		{{0}, (struct sockaddr *)&local, two},
		{{0}, (struct sockaddr *)&any6, ""},
	};

	inet_pton(AF_INET, "10.0.0.2", &bound.sin_addr);
	inet_pton(AF_INET6, "fe80::1", &local.sin6_addr);
	for (size_t i = 0; i < COUNT(cases); i++)
		listen_show_addresses(
			&cases[i].options, &plain, cases[i].listening, cases[i].list, 7471);
	return (int)output_finish(&plain, STATUS_OK);
}

static void shows(const struct personality *personality)
{
	(void)personality;
	run(show, NULL);
	assert_int_equal(printed.status, STATUS_OK);
	assert_string_equal(printed.error, "");
	assert_string_equal(printed.out,
		"addresses: 10.0.0.1 (mlx5_0, eth2), fd00::1 (mlx5_0, eth2).\n"
		"on another host: rdma-client read 10.0.0.1 7471\n"
		"addresses: 10.0.0.1 (mlx5_0, eth2), fd00::1 (mlx5_0, eth2).\n"
		"on another host: rdma-client write 10.0.0.1 7471 --output ./ --secret-file /etc/key\n"
		"on another host: rdma-client write 10.0.0.2 7471\n");
}

int main(void)
{
	static const struct scenario scenarios[] = {
		{"listen", listens},
		{"show addresses", shows},
	};

	return personality_run("listen", scenarios, COUNT(scenarios));
}
