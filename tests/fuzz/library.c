/* For fuzz-control-session.c: stubs of librdmacm and libibverbs functions, which always succeed. */
#include <unistd.h>

#include "rdma-common.h"
#include "tests/fuzz/fuzz.h"

static struct rdma_event_channel channel;

struct rdma_event_channel *rdma_create_event_channel(void)
{
	channel.fd = STDERR_FILENO;
	return &channel;
}

/* cppcheck-suppress constParameter ; the library's prototype */
void rdma_destroy_event_channel(struct rdma_event_channel *events)
{
	fuzz_check(events == &channel);
}

int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *events)
{
	id->channel = events;
	return 0;
}

/* cppcheck-suppress constParameter ; the library's prototype */
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	fuzz_check(id && parameters->private_data_len <= 196);
	return 0;
}

/* cppcheck-suppress constParameter ; the library's prototype */
int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t size)
{
	fuzz_check(id && data && size <= 148);
	return 0;
}

/* cppcheck-suppress constParameter ; the library's prototype */
int ibv_query_device(struct ibv_context *verbs, struct ibv_device_attr *attributes)
{
	fuzz_check(verbs);
	attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
	return 0;
}
