/* Which device serves an address, with the functions of librdmacm replaced. */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>

#include "host/bound-device.h"
#include "tests/unit/unit.h"

static struct rdma_event_channel the_channel;
static struct rdma_cm_id the_id;
static struct ibv_context context;
static struct ibv_device device;
static bool no_channel, no_id, bind_fails, unbound;
static int open_objects;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	open_objects += !no_channel;
	return no_channel ? NULL : &the_channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	assert_ptr_equal(channel, &the_channel);
	open_objects--;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *user,
	enum rdma_port_space space)
{
	(void)user;
	assert_ptr_equal(channel, &the_channel);
	assert_int_equal(space, RDMA_PS_TCP);
	if (no_id)
		return -1;
	open_objects++;
	the_id = (struct rdma_cm_id){0};
	*id = &the_id;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_ptr_equal(id, &the_id);
	open_objects--;
	return 0;
}

/* The port of the address, which may be in use, is not bound. */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	assert_int_equal(((struct sockaddr_in *)address)->sin_port, 0);
	if (bind_fails)
		return -1;
	context.device = &device;
	id->verbs = unbound ? NULL : &context;
	return 0;
}

/* cppcheck-suppress constParameter ; the library defines the signature */
const char *ibv_get_device_name(struct ibv_device *named)
{
	assert_ptr_equal(named, &device);
	return "siw0";
}

static bool is(const char *name)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(7471)};
	bool result = bound_device_is(name, (struct sockaddr *)&address);

	assert_int_equal(open_objects, 0);
	return result;
}

static void compares_the_device(void **state)
{
	(void)state;
	assert_true(is("siw0"));
	assert_false(is("siw1"));
	unbound = true;
	assert_false(is("siw0"));
	unbound = false;
	bind_fails = true;
	assert_false(is("siw0"));
	bind_fails = false;
	no_id = true;
	assert_false(is("siw0"));
	no_id = false;
	no_channel = true;
	assert_false(is("siw0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares_the_device),
	};

	return cmocka_run_group_tests_name("bound-device", tests, NULL, NULL);
}
