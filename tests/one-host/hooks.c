/*
 * Linked into hooked-client, a variant of rdma-client that runs a command before it calls a
 * function of librdmacm, so that a test can change this host between two steps of connecting. The
 * environment variables BEFORE_ADDRESS, BEFORE_ROUTE and BEFORE_CONNECT are commands of the shell;
 * if one is unset, nothing is run. The linker replaces the functions with these (ld(1), --wrap).
 */
#include <rdma/rdma_cma.h>
#include <stdlib.h>

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __real_rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int timeout);
int __wrap_rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int timeout);
int __real_rdma_resolve_route(struct rdma_cm_id *id, int timeout);
int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int timeout);
int __real_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters);
int __wrap_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters);

/* Runs the command in this variable. The test checks what it has changed. */
static void run(const char *variable)
{
	const char *command = getenv(variable);

	/* NOLINTNEXTLINE(cert-env33-c): a test's own command */
	if (command && system(command) != 0)
		abort();
}

int __wrap_rdma_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *address, int timeout)
{
	run("BEFORE_ADDRESS");
	return __real_rdma_resolve_addr(id, source, address, timeout);
}

int __wrap_rdma_resolve_route(struct rdma_cm_id *id, int timeout)
{
	run("BEFORE_ROUTE");
	return __real_rdma_resolve_route(id, timeout);
}

int __wrap_rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	run("BEFORE_CONNECT");
	return __real_rdma_connect(id, parameters);
}
/* NOLINTEND(bugprone-reserved-identifier) */
