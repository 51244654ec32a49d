/* Joins a multicast group: see multicast/group.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/address.h"
#include "host/device-address.h"
#include "host/inventory.h"
#include "host/readiness.h"
#include "multicast/group.h"
#include "verbs/device.h"

/* Time limit for looking up a name, in milliseconds. */
#define NAME_MS 5000

/* ENOTSUPP of linux/errno.h, which programs should not see, but do. */
#define KERNEL_ENOTSUPP 524

static bool is_multicast(const struct sockaddr *address)
{
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

	return address->sa_family == AF_INET6 ? IN6_IS_ADDR_MULTICAST(&v6->sin6_addr)
					      : IN_MULTICAST(ntohl(v4->sin_addr.s_addr));
}

static int find_group(const struct group_settings *settings, struct sockaddr_storage *address,
	struct failure *failure)
{
	struct addrinfo *list;
	int error = address_find(settings->name, 0, AF_UNSPEC, NAME_MS, &list);

	if (error)
		return failure_set(failure, FAILURE_NAME, PHASE_NAME, error, "getaddrinfo", "%s",
			gai_strerror(error));
	memcpy(address, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return is_multicast((struct sockaddr *)address)
		       ? 0
		       : failure_set(failure, FAILURE_ADDRESS, PHASE_ADDRESS, ADDRESS_NOT_MULTICAST,
				 "getaddrinfo", "");
}

/* Finds the first device with datagrams that has an address of this family. */
static int find_device_address(
	int family, struct sockaddr_storage *address, struct failure *failure)
{
	struct inventory inventory;
	bool found = false, iwarp = false;
	char evidence[sizeof(failure->evidence)];
	enum readiness lacking = HOST_READY;

	if (inventory_take("", NULL, &inventory) == 0) {
		lacking = readiness_check(&inventory, NULL, evidence, sizeof(evidence));
		for (size_t i = 0; !found && i < inventory.device_count; i++) {
			const struct inventory_device *device = &inventory.devices[i];

			if (inventory_is_iwarp(device))
				iwarp = true;
			else
				found = device_address_find("", device->name, family, address) ==
					HOST_READY;
		}
		inventory_free(&inventory);
	}
	if (found)
		return 0;
	if (lacking != HOST_READY && !iwarp)
		return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, (int)lacking,
			"rdma_bind_addr", "%s", evidence);
	return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS,
		iwarp ? HOST_NO_DATAGRAMS : HOST_NO_DEVICE_ADDRESS, "rdma_bind_addr",
		"no InfiniBand or RoCE device has an %s address",
		family == AF_INET ? "IPv4" : "IPv6");
}

/* Finds the local address, which determines the device. */
static int find_local(const struct group_settings *settings, int family,
	struct sockaddr_storage *address, struct failure *failure)
{
	char evidence[sizeof(failure->evidence)];
	enum readiness lacking;
	struct addrinfo *list;
	int error;

	if (settings->source) {
		error = address_find(settings->source, 0, family, NAME_MS, &list);
		if (error)
			return failure_set(failure, FAILURE_NAME, PHASE_ADDRESS, error,
				"getaddrinfo", "%s: %s", settings->source, gai_strerror(error));
		memcpy(address, list->ai_addr, list->ai_addrlen);
		freeaddrinfo(list);
		return 0;
	}
	if (!settings->device)
		return find_device_address(family, address, failure);
	lacking = device_address_find("", settings->device, family, address);
	if (lacking == HOST_READY)
		return 0;
	lacking = device_address_explain("", settings->device, lacking, evidence, sizeof(evidence));
	return failure_set(
		failure, FAILURE_HOST, PHASE_ADDRESS, (int)lacking, "--device", "%s", evidence);
}

/* Records that the local address is that of no RDMA device, and which addresses are. */
static int not_of_device(const struct sockaddr_storage *local, struct failure *failure)
{
	char text[ADDRESS_TEXT_SIZE], others[sizeof(failure->evidence)];

	address_text((const struct sockaddr *)local, text);
	device_address_list("", others, sizeof(others));
	return failure_set(failure, FAILURE_ADDRESS, PHASE_ADDRESS, ADDRESS_NOT_OF_DEVICE,
		"rdma_bind_addr", "%s; RDMA addresses of this host: %s", text, others);
}

/* Binds the id to the device of the local address. */
static int bind_id(struct group *group, const struct group_settings *settings,
	const struct sockaddr_storage *local, struct failure *failure)
{
	const char *device;

	group->channel = rdma_create_event_channel();
	if (!group->channel || fcntl(group->channel->fd, F_SETFL, O_NONBLOCK))
		return failure_errno(failure, PHASE_OPEN, "rdma_create_event_channel", errno);
	if (rdma_create_id(group->channel, &group->id, NULL, RDMA_PS_UDP))
		return failure_errno(failure, PHASE_OPEN, "rdma_create_id", errno);
	if (rdma_bind_addr(group->id, (struct sockaddr *)local))
		return errno == ENODEV || errno == EADDRNOTAVAIL
			       ? not_of_device(local, failure)
			       : failure_errno(failure, PHASE_ADDRESS, "rdma_bind_addr", errno);
	if (!group->id->verbs)
		return not_of_device(local, failure);
	device = ibv_get_device_name(group->id->verbs->device);
	if (settings->device && strcmp(settings->device, device) != 0)
		return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, HOST_OTHER_DEVICE,
			"--device", "it belongs to %s", device);
	if (group->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		return failure_set(failure, FAILURE_HOST, PHASE_ADDRESS, HOST_NO_DATAGRAMS,
			"rdma_bind_addr", "%s", device);
	return 0;
}

/* Makes the queue pair, in state RTS, and its memory. */
static int make_queue_pair(
	struct group *group, const struct group_settings *settings, struct failure *failure)
{
	struct ibv_qp_init_attr attributes = {
		.qp_type = IBV_QPT_UD,
		.cap = {.max_send_wr = settings->receives ? 1 : settings->slots,
			.max_recv_wr = settings->receives ? settings->slots : 1,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};
	struct ibv_port_attr port;
	size_t size;

	if (ibv_query_port(group->id->verbs, group->id->port_num, &port))
		return failure_errno(failure, PHASE_OPEN, "ibv_query_port", errno);
	group->mtu = device_mtu_bytes(port.active_mtu);
	group->slot_size = GROUP_GRH + group->mtu;
	group->slots = settings->slots;
	size = ((size_t)group->slots + 1) * group->slot_size;
	group->pd = ibv_alloc_pd(group->id->verbs);
	group->completions = ibv_create_comp_channel(group->id->verbs);
	if (!group->pd || !group->completions || fcntl(group->completions->fd, F_SETFL, O_NONBLOCK))
		return failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_alloc_pd", errno);
	group->cq =
		ibv_create_cq(group->id->verbs, (int)group->slots + 1, NULL, group->completions, 0);
	if (!group->cq)
		return failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_create_cq", errno);
	attributes.send_cq = attributes.recv_cq = group->cq;
	if (rdma_create_qp(group->id, group->pd, &attributes))
		return failure_errno(failure, PHASE_QUEUE_PAIR, "rdma_create_qp", errno);
	group->memory = calloc(1, size);
	if (!group->memory)
		return failure_errno(failure, PHASE_ALLOCATION, "calloc", ENOMEM);
	group->mr = ibv_reg_mr(group->pd, group->memory, size, IBV_ACCESS_LOCAL_WRITE);
	return group->mr ? 0 : failure_errno(failure, PHASE_MEMORY, "ibv_reg_mr", errno);
}

/* Records why the group cannot be joined. The kernel has an errno of its own for what it lacks. */
static int not_joined(struct failure *failure, int error)
{
	if (error == KERNEL_ENOTSUPP)
		error = EOPNOTSUPP;
	return failure_set(failure, FAILURE_MULTICAST, PHASE_CONNECT, error, "rdma_join_multicast",
		"%s", strerror(error));
}

/* Waits until the group has been joined. */
static int await_join(
	struct group *group, const struct group_settings *settings, struct failure *failure)
{
	struct pollfd waiting[] = {{.fd = group->channel->fd, .events = POLLIN},
		{.fd = settings->stop_fd, .events = POLLIN}};
	struct rdma_cm_event *event;
	int status;

	while (rdma_get_cm_event(group->channel, &event)) {
		if (errno != EAGAIN)
			return failure_errno(failure, PHASE_CONNECT, "rdma_get_cm_event", errno);
		if (poll(waiting, 2, deadline_left(settings->deadline)) == 0)
			return failure_set(failure, FAILURE_MULTICAST, PHASE_CONNECT, ETIMEDOUT,
				"--timeout", "no answer in time");
		if (waiting[1].revents)
			return failure_set(
				failure, FAILURE_INTERRUPTED, PHASE_CONNECT, EINTR, "signal", "");
	}
	status = event->status;
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN && status == 0) {
		const struct rdma_ud_param *joined = &event->param.ud;

		group->since = deadline_now();
		group->mgid = joined->ah_attr.grh.dgid;
		group->mlid = joined->ah_attr.dlid;
		group->qp_num = joined->qp_num;
		group->qkey = joined->qkey;
		group->address = ibv_create_ah(group->pd, (struct ibv_ah_attr *)&joined->ah_attr);
		status = group->address ? 0 : -errno;
	} else if (status == 0) {
		status = -EIO;
	}
	rdma_ack_cm_event(event);
	return status == 0 ? 0 : not_joined(failure, abs(status));
}

static void show(const struct group *group, const struct group_settings *settings)
{
	char mgid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, group->mgid.raw, mgid, sizeof(mgid));
	output_line(settings->output, "joined %s on %s/%u: MGID %s, MLID 0x%04x, MTU %u.",
		settings->name, ibv_get_device_name(group->id->verbs->device), group->id->port_num,
		mgid, group->mlid, group->mtu);
}

int group_join(struct group *group, const struct group_settings *settings, struct failure *failure)
{
	struct sockaddr_storage address, local;

	*group = (struct group){0};
	if (find_group(settings, &address, failure) ||
		find_local(settings, address.ss_family, &local, failure) ||
		bind_id(group, settings, &local, failure) ||
		make_queue_pair(group, settings, failure))
		return -1;
	for (unsigned int i = 0; settings->receives && i < group->slots; i++)
		if (group_post_receive(group, i))
			return failure_errno(failure, PHASE_QUEUE_PAIR, "ibv_post_recv", EIO);
	if (rdma_join_multicast(group->id, (struct sockaddr *)&address, NULL))
		return not_joined(failure, errno);
	group->joined = address;
	if (await_join(group, settings, failure))
		return -1;
	show(group, settings);
	return 0;
}

bool group_has_ended(struct group *group, struct failure *failure)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	int status;

	if (rdma_get_cm_event(group->channel, &event))
		return false;
	type = event->event;
	status = event->status;
	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		failure_set(failure, FAILURE_REMOVED, PHASE_EXCHANGE, 0, rdma_event_str(type), "");
	else if (type == RDMA_CM_EVENT_MULTICAST_ERROR)
		not_joined(failure, abs(status));
	return failure_is_set(failure);
}

void group_leave(struct group *group)
{
	if (group->address)
		ibv_destroy_ah(group->address);
	/* This detaches the queue pair, which cannot be destroyed before. */
	if (group->joined.ss_family != AF_UNSPEC)
		rdma_leave_multicast(group->id, (struct sockaddr *)&group->joined);
	if (group->id && group->id->qp)
		rdma_destroy_qp(group->id);
	if (group->id)
		rdma_destroy_id(group->id);
	if (group->mr)
		ibv_dereg_mr(group->mr);
	if (group->cq)
		ibv_destroy_cq(group->cq);
	if (group->completions)
		ibv_destroy_comp_channel(group->completions);
	if (group->pd)
		ibv_dealloc_pd(group->pd);
	if (group->channel)
		rdma_destroy_event_channel(group->channel);
	free(group->memory);
	*group = (struct group){0};
}

uint8_t *group_slot(const struct group *group, unsigned int slot)
{
	return group->memory + (size_t)slot * group->slot_size;
}

int group_post_receive(struct group *group, unsigned int slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)group_slot(group, slot),
		.length = group->slot_size,
		.lkey = group->mr->lkey};
	struct ibv_recv_wr *bad, request = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};

	return -ibv_post_recv(group->id->qp, &request, &bad);
}

int group_post_send(struct group *group, unsigned int slot, uint32_t size)
{
	struct ibv_sge sge = {.addr = (uintptr_t)group_slot(group, slot),
		.length = size,
		.lkey = group->mr->lkey};
	struct ibv_send_wr *bad, request = {.wr_id = slot,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.ud = {.ah = group->address,
						 .remote_qpn = group->qp_num,
						 .remote_qkey = group->qkey}};

	return -ibv_post_send(group->id->qp, &request, &bad);
}
