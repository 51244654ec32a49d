/* The row of rdmacm: see verbs/bootstrap.h. */
#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "host/device-address.h"
#include "verbs/bootstrap.h"

/*
 * A lost packet is sent again after TRANSPORT_ACK_TIMEOUT. Older kernels and other transports lack
 * this option; their default applies.
 */
static int create_queue_pair(
	struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes)
{
	uint8_t timeout = TRANSPORT_ACK_TIMEOUT;

	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout));
	return rdma_create_qp(id, pd, attributes);
}

/*
 * Binds another id to the device, at the local address of `id` or, if the kernel rejects that (IPv6
 * link-local without its interface), at another address of the device.
 */
static int hold(struct rdma_cm_id *id, struct cm_channel *channel, struct rdma_cm_id **held)
{
	struct sockaddr_storage address = {0};
	const struct sockaddr *local = rdma_get_local_addr(id);
	const char *device = ibv_get_device_name(id->verbs->device);
	int error;

	if (rdma_create_id(channel->rdmacm, held, NULL, RDMA_PS_TCP))
		return -1;
	memcpy(&address, local, address_length(local));
	address_set_port(&address, 0);
	if (rdma_bind_addr(*held, (struct sockaddr *)&address) == 0)
		return 0;
	if (device_address_find("", device, AF_UNSPEC, &address) == HOST_READY &&
		rdma_bind_addr(*held, (struct sockaddr *)&address) == 0)
		return 0;
	error = errno;
	rdma_destroy_id(*held);
	errno = error;
	return -1;
}

/* librdmacm closes a device with its last id, or keeps it open. */
static void release(struct ibv_context *verbs, struct rdma_cm_id *held)
{
	(void)verbs;
	rdma_destroy_id(held);
}

static int migrate(struct rdma_cm_id *id, struct cm_channel *channel)
{
	return rdma_migrate_id(id, channel->rdmacm);
}

static void destroy(struct rdma_cm_id *id)
{
	rdma_destroy_id(id);
}

static bool no_gids(const struct rdma_cm_id *id, struct tcp_offer *ours, struct tcp_path *theirs)
{
	(void)id, (void)ours, (void)theirs;
	return false;
}

static const struct failure *no_failure(const struct rdma_cm_id *id)
{
	(void)id;
	return NULL;
}

const struct bootstrap bootstrap_rdmacm = {
	.name = "rdmacm",
	.channel_kind = CHANNEL_RDMACM,
	.accept = rdma_accept,
	.reject = rdma_reject,
	.create_queue_pair = create_queue_pair,
	.destroy_queue_pair = rdma_destroy_qp,
	.attributes = rdma_init_qp_attr,
	.disconnect = rdma_disconnect,
	.hold = hold,
	.release = release,
	.migrate = migrate,
	.destroy = destroy,
	.gids = no_gids,
	.failure = no_failure,
};

const struct bootstrap *bootstrap_of(const struct rdma_cm_id *id)
{
	return id->ps == OWN_PORT_SPACE ? ((const struct own_id *)id)->bootstrap
					: &bootstrap_rdmacm;
}
