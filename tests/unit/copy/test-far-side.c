/* The server at the other host, which shell scripts play. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "copy/far-side.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/far-side-XXXXXX";
static const struct output client = {.program = "rdma-client"};
static const char *script;

/* Makes --rsh a script with these commands. */
static void write_script(const char *path, const char *commands)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\n%s\n", commands);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
}

static struct options copy_of(const char *rsh)
{
	static const char *paths[] = {"x"};

	return (struct options){
		.command = CLI_COPY,
		.mode = mode_by_name("write"),
		.timeout = 2000,
		/* Of this host's devices, none has a say. */
		.device = "no-such-device",
		.copy = {.remote = "me@there", .paths = paths, .path_count = 1, .rsh = rsh},
	};
}

/* Starts the server, and ends it after an exchange with this result. */
static int start_and_end(void)
{
	struct options options = copy_of(script);
	struct far_side side;
	enum exit_status status = far_side_start(&side, &options, &client);
	struct secret *secret = NULL;
	char why[SECRET_WHY_SIZE];

	if (status == STATUS_OK) {
		if (options.command != CLI_EXCHANGE || options.port != 7471 ||
			strcmp(options.host, "192.0.2.1") != 0 ||
			secret_load(&secret, options.secret_file, why))
			return 99;
		secret_free(secret);
		far_side_end(&side);
	}
	return (int)output_finish(&client, status);
}

static void check(const char *commands, int status, const char *error)
{
	if (commands) {
		write_script("rsh", commands);
		script = "./rsh -p 22";
	}
	run(start_and_end, NULL);
	assert_string_equal(printed.error, error);
	assert_int_equal(printed.status, status);
	assert_string_equal(printed.out, "");
}

#define READY_LINE "echo 'rdma-server listens: 7471 192.0.2.1 2001:db8::1'; "
#define READY      "echo Welcome; echo; " READY_LINE

/* It gets the host, the command and, on standard input, the secret; its input ends last. */
static void a_server_is_started_and_ended(void **state)
{
	char said[200] = "";
	FILE *file;

	(void)state;
	check("echo \"$1 $2 $3 $4\" >said; read secret; echo ${#secret} >>said; " READY
	      "cat; echo ended >>said",
		STATUS_OK, "");
	file = fopen("said", "r");
	assert_non_null(file);
	assert_true(fread(said, 1, sizeof(said) - 1, file) > 0);
	fclose(file);
	assert_string_equal(said,
		"-p 22 me@there rdma-server --stdio --timeout 2 --force --output 'x' write\n"
		"64\nended\n");
}

/* What it does after the exchange does not matter: that has verified the data. */
static void its_end_is_its_own(void **state)
{
	(void)state;
	check(READY "cat >/dev/null; yes | head -100000; exit 1", STATUS_OK, "");
	check(READY "kill $$", STATUS_OK, "");
}

static void a_banner_may_have_no_end_of_line(void **state)
{
	(void)state;
	check("printf '\\033]0;title\\007'; " READY_LINE "cat >/dev/null", STATUS_OK, "");
	check("cat /dev/zero", STATUS_CONNECT,
		"rdma-client: rdma-server at me@there has not started (exit status 137 of ./rsh -p "
		"22); see above\n");
}

/* Waits until the script has written its process id, and returns it. */
static pid_t script_process(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	long process = 0;

	while (process == 0) {
		FILE *file = fopen("pid", "r");

		if (file && fscanf(file, "%ld", &process) != 1)
			process = 0;
		if (file)
			fclose(file);
		nanosleep(&pause, NULL);
	}
	unlink("pid");
	return (pid_t)process;
}

/* A signal while the server starts, or ends, ends both. */
static void a_signal_ends_both(void **state)
{
	static const char *const commands[] = {
		"echo $$ >pid; exec sleep 100", READY "echo $$ >pid; exec sleep 100"};
	const struct timespec pause = {.tv_nsec = 10000000};

	(void)state;
	script = "./rsh";
	for (size_t i = 0; i < COUNT(commands); i++) {
		pid_t process, child;
		int status;

		write_script("rsh", commands[i]);
		child = fork();
		if (child == 0)
			_exit(start_and_end());
		process = script_process();
		assert_int_equal(kill(child, SIGTERM), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		/* It is not a child of this process. */
		while (kill(process, 0) == 0)
			nanosleep(&pause, NULL);
	}
}

static void a_server_that_does_not_start_is_explained(void **state)
{
	(void)state;
	check("exit 127", STATUS_CONNECT,
		"rdma-client: rdma-server is not installed at me@there, or not in its PATH; install "
		"it there, or name it with --server-path\n");
	check("exit 255", STATUS_CONNECT,
		"rdma-client: cannot reach me@there by ./rsh -p 22; see above\n");
	check("exit 2", STATUS_CONNECT,
		"rdma-client: rdma-server at me@there does not know the options of this copy, as "
		"older releases do not; see above, and install the same release at both hosts\n");
	check("echo nonsense; exit 3", STATUS_CONNECT,
		"rdma-client: rdma-server at me@there has not started (exit status 3 of ./rsh -p "
		"22); see above\n");
	check("echo 'rdma-server listens: 7471'; cat", STATUS_CONNECT,
		"rdma-client: rdma-server at me@there has no RDMA address; look there: rdma-client "
		"diagnose\n");
	script = "./missing -p 22";
	check(NULL, STATUS_FAILED,
		"rdma-client: cannot run ./missing -p 22: No such file or directory\n");
}

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	(void)state;
	unlink("rsh");
	unlink("said");
	return chdir("/") || rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_is_started_and_ended),
		cmocka_unit_test(its_end_is_its_own),
		cmocka_unit_test(a_banner_may_have_no_end_of_line),
		cmocka_unit_test(a_signal_ends_both),
		cmocka_unit_test(a_server_that_does_not_start_is_explained),
	};

	return cmocka_run_group_tests_name("far side", tests, enter, leave);
}
