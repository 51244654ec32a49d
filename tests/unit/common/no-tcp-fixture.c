/* For tests that replace parts of the host: connections without rdmacm, which must not be made. */
#include <errno.h>

#include "tests/unit/unit.h"
#include "verbs/tcp-bootstrap.h"

const struct bootstrap bootstrap_tcp;

int tcp_channel_create(struct tcp_channel **channel)
{
	(void)channel;
	return -ENOSYS;
}

void tcp_channel_destroy(struct tcp_channel *channel)
{
	(void)channel;
	fail();
}

int tcp_channel_fd(const struct tcp_channel *channel)
{
	(void)channel;
	return -1;
}

int tcp_channel_take(struct tcp_channel *channel, struct event_copy *copy)
{
	(void)channel, (void)copy;
	return -ENOSYS;
}

int tcp_listen(struct tcp_channel *channel, const struct sockaddr *address,
	const struct path_settings *settings, const struct output *output,
	struct rdma_cm_id **listener)
{
	(void)channel, (void)address, (void)settings, (void)output, (void)listener;
	return -ENOSYS;
}

int tcp_start(struct tcp_channel *channel, const struct sockaddr *address,
	const struct sockaddr *source, const struct path_settings *settings,
	const struct output *output, struct rdma_cm_id **id)
{
	(void)channel, (void)address, (void)source, (void)settings, (void)output, (void)id;
	return -ENOSYS;
}

bool tcp_explain(struct failure *failure, int error)
{
	(void)failure, (void)error;
	return false;
}

void tcp_look(struct rdma_cm_id *id)
{
	(void)id;
}

int tcp_offer(struct rdma_cm_id *id, struct failure *failure)
{
	(void)id, (void)failure;
	return -1;
}

bool tcp_awaits_path(const struct rdma_cm_id *id)
{
	(void)id;
	return false;
}

int tcp_request(struct rdma_cm_id *id, const struct rdma_conn_param *parameters)
{
	(void)id, (void)parameters;
	return -1;
}
