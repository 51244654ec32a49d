/*
 * How agents are started: scripts in a folder of PATH stand for srun, clush, pdsh, mpirun and ssh,
 * and write down their arguments and what the agent would get as its token.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mesh/launcher.h"
#include "tests/unit/unit.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static char folder[] = "/tmp/launcher-XXXXXX";
static char addresses[2][64] = {"192.0.2.1", "fd00::1"};
static const struct rendezvous rendezvous = {7472, addresses, 2, TOKEN};

static char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_script(const char *name, const char *commands)
{
	FILE *file = fopen(path_of(name), "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s\n", commands);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path_of(name), 0700), 0);
}

static int set_up(void **state)
{
	(void)state;
	signal(SIGPIPE,
		SIG_IGN); /* as the programs do: a launcher may end before it reads the token */
	assert_non_null(mkdtemp(folder));
	setenv("PATH", folder, 1);
	unsetenv("SLURM_JOB_ID");
	unsetenv("RDMA_RSH");
	setenv("LOG", path_of("log"), 1);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	setenv("PATH", "/usr/bin:/bin", 1);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static void read_log(char log[4096])
{
	FILE *file = fopen(path_of("log"), "r");
	size_t size = file ? fread(log, 1, 4095, file) : 0;

	log[size] = '\0';
	if (file)
		fclose(file);
	unlink(path_of("log"));
}

/*
 * Starts the agents of h1 and h2, waits until all programs have ended, and reads what they wrote.
 */
static const char *launch(const struct options *options, char log[4096])
{
	static struct launcher launcher;
	struct host_list hosts = {0};
	char why[MESH_REASON_SIZE];
	const char *name;

	assert_int_equal(host_list_expand(&hosts, "h1,h2", why), 0);
	if (launcher_start(&launcher, options, &hosts, &rendezvous, why))
		fail_msg("%s", why);
	name = launcher_name(&launcher);
	while (launcher_runs(&launcher)) {
		poll(NULL, 0, 5);
		launcher_check(&launcher);
	}
	launcher_end(&launcher);
	assert_int_equal(launcher.kept_count, 0);
	host_list_free(&hosts);
	read_log(log);
	return name;
}

#define AGENT "rdma-client mesh-agent 7472 192.0.2.1 fd00::1"

static void test_ssh(void **state)
{
	const struct options options = {.mesh = {.via = VIA_SSH}, .device = "mlx5 1"};
	char log[4096];

	(void)state;
	write_script("ssh", "read token; echo \"$token: $*\" >>$LOG");
	launch(&options, log);
	assert_non_null(
		strstr(log, TOKEN ": -o BatchMode=yes h1 " AGENT " --device 'mlx5 1' --name h1\n"));
	assert_non_null(strstr(log, " h2 " AGENT " --device 'mlx5 1' --name h2\n"));
}

static void test_rsh(void **state)
{
	const struct options options = {
		.mesh = {.via = VIA_SSH, .agent_path = "/opt/a b/rdma-client"},
		.copy = {.rsh = "login -p  22"}};
	char log[4096];

	(void)state;
	write_script("login", "read token; echo \"$token: $*\" >>$LOG");
	launch(&options, log);
	assert_non_null(strstr(log, TOKEN ": -p 22 h1 '/opt/a b/rdma-client' mesh-agent 7472 "));
}

static void test_srun(void **state)
{
	const struct options options = {.mesh = {.via = VIA_SRUN}};
	char log[4096];

	(void)state;
	write_script("srun", "read token; echo \"$token: $*\" >>$LOG");
	launch(&options, log);
	assert_string_equal(log,
		TOKEN ": --nodelist h1,h2 --nodes 2 --ntasks 2 --ntasks-per-node=1 --overlap "
		      "--mpi=none --kill-on-bad-exit=0 --input=all " AGENT "\n");
}

static void test_clush(void **state)
{
	const struct options options = {.mesh = {.via = VIA_CLUSH}};
	char log[4096];

	(void)state;
	write_script("clush", "read token; echo \"$token: $*\" >>$LOG");
	launch(&options, log);
	assert_string_equal(log, TOKEN ": -w h1,h2 -f 2 " AGENT "\n");
}

static void test_mpirun(void **state)
{
	const struct options options = {.mesh = {.via = VIA_MPIRUN}};
	char log[4096];

	(void)state;
	write_script("mpirun", "echo \"$RDMA_MESH_TOKEN: $*\" >>$LOG");
	launch(&options, log);
	assert_string_equal(log, TOKEN
		": --host h1:1,h2:1 -np 2 --map-by ppr:1:node -x RDMA_MESH_TOKEN " AGENT "\n");
	assert_null(getenv("RDMA_MESH_TOKEN"));
}

/*
 * pdsh runs the script for each host, which gives ssh the token; both files are for this user only,
 * and in no folder.
 */
static void test_pdsh(void **state)
{
	const struct options options = {.mesh = {.via = VIA_PDSH}};
	char log[4096];

	(void)state;
	write_script("pdsh", "echo \"$1 $2 $3 $4 $5 $6\" >>$LOG\n"
			     "token=`sed -n 's/.*<//p' \"$8\"`\n"
			     "stat -L -c '%a %h' \"$8\" $token >>$LOG\n"
			     "PATH=${LOG%/*}:$PATH sh \"$8\" h2");
	write_script("ssh", "read token; echo \"$token: $*\" >>$LOG");
	launch(&options, log);
	assert_string_equal(log, "-R exec -f 2 -w h1,h2\n600 0\n600 0\n" TOKEN
				 ": -o BatchMode=yes h2 " AGENT " --name h2\n");
}

static void test_choice(void **state)
{
	struct options options = {0};
	char log[4096];

	(void)state;
	assert_string_equal(launch(&options, log), "clush");
	unlink(path_of("clush"));
	assert_string_equal(launch(&options, log), "pdsh");
	options.copy.rsh = "ssh";
	assert_string_equal(launch(&options, log), "ssh");
	options.copy.rsh = NULL;
	unlink(path_of("pdsh"));
	assert_string_equal(launch(&options, log), "ssh");
	setenv("SLURM_JOB_ID", "1", 1);
	assert_string_equal(launch(&options, log), "srun");
	unlink(path_of("srun"));
	assert_string_equal(launch(&options, log), "ssh");
	options.mesh.via = VIA_NONE;
	assert_string_equal(launch(&options, log), "none");
	assert_string_equal(log, "");
}

/* Why no agent comes: of one that all hosts share, the line about the host. */
static void test_reasons(void **state)
{
	const struct options options = {.mesh = {.via = VIA_CLUSH}};
	struct launcher launcher;
	struct host_list hosts = {0};
	char why[MESH_REASON_SIZE];

	(void)state;
	write_script("clush",
		"printf 'h1: no route\\nh2: not found\\nclush: h2: exited with exit code 1\\n' >&2");
	assert_int_equal(host_list_expand(&hosts, "h1,h2,h3", why), 0);
	assert_int_equal(launcher_start(&launcher, &options, &hosts, &rendezvous, why), 0);
	while (launcher_runs(&launcher)) {
		poll(NULL, 0, 5);
		launcher_check(&launcher);
	}
	assert_true(launcher_has_ended(&launcher, 1, "h2", why));
	assert_string_equal(why, "h2: not found");
	assert_true(launcher_has_ended(&launcher, 2, "h3", why));
	assert_string_equal(why, "clush: h2: exited with exit code 1");
	launcher_end(&launcher);
	unlink(path_of("clush"));
	assert_int_equal(launcher_start(&launcher, &options, &hosts, &rendezvous, why), -1);
	assert_string_equal(why, "cannot run clush: No such file or directory");
	launcher_end(&launcher);
	host_list_free(&hosts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ssh),
		cmocka_unit_test(test_rsh),
		cmocka_unit_test(test_srun),
		cmocka_unit_test(test_clush),
		cmocka_unit_test(test_mpirun),
		cmocka_unit_test(test_pdsh),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
