/* Binds an id to the address, and destroys it. Nothing stays open. */
#include <rdma/rdma_cma.h>
#include <string.h>

#include "base/address.h"
#include "host/bound-device.h"

bool bound_device_is(const char *device, const struct sockaddr *address)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_storage any_port = {0};
	struct rdma_cm_id *id = NULL;
	bool is = false;

	memcpy(&any_port, address, address_length(address));
	address_set_port(&any_port, 0);
	if (channel && rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0 &&
		rdma_bind_addr(id, (struct sockaddr *)&any_port) == 0 && id->verbs)
		is = strcmp(ibv_get_device_name(id->verbs->device), device) == 0;
	if (id)
		rdma_destroy_id(id);
	if (channel)
		rdma_destroy_event_channel(channel);
	return is;
}
