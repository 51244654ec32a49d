/*
 * A tree output that receives the input as a stream, in pieces: whatever it contains, nothing is
 * created outside the target folder; if it is refused twice, nothing remains there; if it is
 * accepted, a tree input can read what was stored.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/tree.h"
#include "stream/tree-input.h"
#include "stream/tree-output.h"
#include "tests/fuzz/fuzz.h"

/* In memory, because each commit syncs the file system. */
static char folder[] = "/dev/shm/fuzz-tree.XXXXXX";
static char target[64], outside[64];
static unsigned int entries;

/* What is kept of attributes. */
static struct keeping keeping;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

static void clean_up(void)
{
	id_names_free(keeping.names);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): libFuzzer's prototype */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_check(mkdtemp(folder));
	snprintf(target, sizeof(target), "%s/target", folder);
	snprintf(outside, sizeof(outside), "%s/outside", folder);
	keeping.names = id_names_new();
	fuzz_check(keeping.names);
	fuzz_check(mkdir(target, 0700) == 0 && mkdir(outside, 0700) == 0);
	fuzz_check(atexit(clean_up) == 0);
	return 0;
}

static int count_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)path;
	(void)kind;
	(void)where;
	fuzz_check(keeping.kept || (status->st_mode & 07000) == 0);
	entries++;
	return 0;
}

/* Makes a folder readable before it is visited. */
static int open_up(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	(void)where;
	if (kind == FTW_D || kind == FTW_DNR)
		chmod(path, 0700);
	else if (S_ISREG(status->st_mode))
		chmod(path, 0600);
	return 0;
}

static unsigned int count_entries(const char *path)
{
	entries = 0;
	fuzz_check(nftw(path, count_one, 8, FTW_PHYS) == 0);
	return entries;
}

/* Feeds the stream in pieces of sizes that its first byte determines. */
static int feed(struct tree_output *output, struct fuzz_input *input)
{
	char why[OUTPUT_FILE_WHY_SIZE] = "";
	size_t piece = fuzz_byte(input) + 1U;
	int error = 0;

	while (!error && input->left > 0) {
		size_t most = input->left < piece ? input->left : piece;
		uint8_t *copy = fuzz_copy(input->at, most);

		error = tree_output_write(output, copy, most, why);
		free(copy);
		input->at += most;
		input->left -= most;
	}
	if (!error)
		error = tree_output_end(output, true, why);
	if (!error)
		error = tree_output_commit(output, why);
	fuzz_check(!error || *why);
	for (const char *byte = why; *byte; byte++)
		fuzz_check((unsigned char)*byte >= 0x20 && *byte != 0x7f);
	return error;
}

/* Reads everything that was stored. */
static void read_back(void)
{
	const char *const paths[] = {target};
	char why[WORKER_WHY_SIZE];
	struct tree_input *input;
	uint8_t bytes[4096];
	ssize_t got;

	fuzz_check(tree_input_open(&input, paths, 1, why) == 0);
	/* A stream can describe files that would take years to read. */
	tree_input_extend(input);
	tree_input_keep(input, &keeping);
	do {
		got = tree_input_read(input, bytes, sizeof(bytes), -1, why);
	} while (got > 0);
	/* The stream may nest as deeply as allowed without the folder that is read here. */
	fuzz_check(got == 0 || got == -ENAMETOOLONG);
	tree_input_close(input);
}

/*
 * Stores the stream, as long as the first byte allows: 1: with --force, 2: with workers, 4: with
 * --update, 8: what is there is answered, and can be kept, 16: attributes are kept. Returns 0 or
 * -errno.
 */
static int store(struct fuzz_input input, int directory, bool keep)
{
	uint8_t choices = fuzz_byte(&input);
	struct digester *keyed = digester_new();
	struct tree_output_options options = {.force = choices & 1, .update = choices & 4};
	char why[OUTPUT_FILE_WHY_SIZE];
	struct tree_output *output;
	struct writer writer = {.descriptor = -1, .stop_fd = -1, .ours = true, .most = PIPE_BUF};
	int ends[2], error;

	keeping.kept = choices & 16 ? KEPT_ALL : 0;
	options.keeping = keeping;
	fuzz_check(keyed && pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	if (choices & 8) {
		options.keyed = keyed;
		options.answers = &writer;
	}
	writer.descriptor = ends[1];
	fuzz_check(tree_output_open(&output, directory, "name", &options, why) == 0);
	if (choices & 2)
		tree_output_use_workers(output, 2);
	error = feed(output, &input);
	tree_output_close(output, keep && error);
	writer_close(&writer);
	digester_free(keyed);
	close(ends[0]);
	return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fuzz_input input = {data, size};
	int directory = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC), error, first;

	fuzz_check(directory >= 0);
	/* The second time, it is resumed, or is there. */
	first = store(input, directory, true);
	fuzz_check(count_entries(outside) == 1);
	error = store(input, directory, false);
	fuzz_check(count_entries(outside) == 1);
	fuzz_check(count_entries(folder) == count_entries(target) + 2);
	/* A folder may be unreadable, and then its contents are not counted. */
	if (first && error)
		fuzz_check(count_entries(target) == 1);
	nftw(target, open_up, 8, FTW_PHYS);
	if (!first || !error)
		read_back();
	close(directory);
	fuzz_check(nftw(target, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
	fuzz_check(mkdir(target, 0700) == 0);
	return 0;
}
