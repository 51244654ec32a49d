/*
 * A sysfs with arbitrary contents: reading a file or listing a folder returns the next bytes of the
 * input, up to a zero byte. After the end of the input, no file exists. The linker replaces the C
 * library's functions (ld(1), --wrap).
 */
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <json-c/json.h>

#include "diagnose/inventory-report.h"
#include "host/counters.h"
#include "host/locality.h"
#include "host/readiness.h"
#include "tests/fuzz/fuzz.h"

/* The descriptor of the open file; only one is open at a time. */
#define DESCRIPTOR 1000

/* The maximum number of entries in a folder. */
#define ENTRIES_MAX 4

static struct fuzz_input tree;
static struct fuzz_input file; /* the open file */

/* Reads the next text of the tree. */
static struct fuzz_input next_text(void)
{
	const uint8_t *zero = tree.left ? memchr(tree.at, '\0', tree.left) : NULL;
	struct fuzz_input text = {tree.at, zero ? (size_t)(zero - tree.at) : tree.left};

	tree.at += text.left + (zero != NULL);
	tree.left -= text.left + (zero != NULL);
	return text;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's names */
int __wrap_open64(const char *path, int flags);
ssize_t __wrap_read(int descriptor, void *bytes, size_t size);
int __wrap_close(int descriptor);
int __wrap_access(const char *path, int mode);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);
int __wrap_scandir64(const char *path, struct dirent ***entries,
	int (*filter)(const struct dirent *entry),
	int (*compare)(const struct dirent **one, const struct dirent **other));

int __wrap_open64(const char *path, int flags)
{
	(void)path;
	(void)flags;
	errno = ENOENT;
	if (tree.left == 0)
		return -1;
	file = next_text();
	return DESCRIPTOR;
}

ssize_t __wrap_read(int descriptor, void *bytes, size_t size)
{
	fuzz_check(descriptor == DESCRIPTOR);
	/* Return only a few bytes per read, as a device driver may. */
	return (ssize_t)fuzz_bytes(&file, bytes, size > 7 ? 7 : size);
}

int __wrap_close(int descriptor)
{
	fuzz_check(descriptor == DESCRIPTOR);
	return 0;
}

int __wrap_access(const char *path, int mode)
{
	static const int errors[] = {0, EACCES, ENOENT, 0};

	(void)path;
	(void)mode;
	errno = errors[fuzz_byte(&tree) % FUZZ_COUNT(errors)];
	return errno ? -1 : 0;
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	(void)path;
	if (tree.left == 0)
		return -1;
	file = next_text();
	return (ssize_t)fuzz_bytes(&file, text, size);
}

/* Reads the next of the names separated by blanks, or "" at the end. */
static void next_name(struct fuzz_input *names, char name[], size_t size)
{
	size_t length = 0;
	char c;

	while (names->left > 0 && (c = (char)fuzz_byte(names)) != ' ' && length < size - 1)
		name[length++] = c == '/' ? '_' : c;
	name[length] = '\0';
}

/* True if the name is not empty and not yet in the folder. */
static bool is_new(struct dirent *const *entries, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(entries[i]->d_name, name) == 0)
			return false;
	return *name;
}

int __wrap_scandir64(const char *path, struct dirent ***entries,
	int (*filter)(const struct dirent *entry),
	int (*compare)(const struct dirent **one, const struct dirent **other))
{
	struct fuzz_input names = next_text();
	int count = 0;

	(void)path;
	(void)compare;
	errno = ENOENT;
	if (names.left == 0)
		return -1;
	*entries = calloc(ENTRIES_MAX, sizeof(struct dirent *));
	fuzz_check(*entries);
	while (names.left > 0 && count < ENTRIES_MAX) {
		struct dirent *entry = calloc(1, sizeof(*entry));

		fuzz_check(entry);
		next_name(&names, entry->d_name, sizeof(entry->d_name));
		if (is_new(*entries, count, entry->d_name) && filter(entry))
			(*entries)[count++] = entry;
		else
			free(entry);
	}
	return count;
}
/* NOLINTEND(bugprone-reserved-identifier) */

#define check_ends(field) fuzz_check(memchr(field, '\0', sizeof(field)))

static void check_port(const struct inventory_port *port)
{
	check_ends(port->state);
	check_ends(port->physical_state);
	check_ends(port->link_layer);
	check_ends(port->rate);
	fuzz_check(port->megabits == inventory_megabits(port->rate));
	for (size_t i = 0; i < port->gid_count; i++) {
		check_ends(port->gids[i].text);
		check_ends(port->gids[i].type);
		check_ends(port->gids[i].interface);
		fuzz_check(*port->gids[i].text);
	}
	for (size_t i = 0; i < port->interface_count; i++) {
		check_ends(port->interfaces[i].name);
		check_ends(port->interfaces[i].state);
		fuzz_check(sysfs_is_name(port->interfaces[i].name));
		for (size_t j = 0; j < i; j++)
			fuzz_check(strcmp(port->interfaces[i].name, port->interfaces[j].name) != 0);
	}
}

static void check_device(const struct inventory *inventory, const struct inventory_device *device)
{
	check_ends(device->name);
	check_ends(device->type);
	check_ends(device->description);
	check_ends(device->firmware);
	check_ends(device->driver);
	check_ends(device->parent);
	check_ends(device->uverbs);
	fuzz_check(inventory_device(inventory, device->name));
	for (size_t i = 0; i < device->port_count; i++) {
		check_port(&device->ports[i]);
		fuzz_check(inventory_port(inventory, device->name, device->ports[i].number));
	}
}

/* A printed line has no control characters. */
static void check_line(const char *line, void *context)
{
	size_t *lines = context;

	for (; *line; line++)
		fuzz_check((unsigned char)*line >= 0x20 && *line != 0x7f);
	++*lines;
}

static void check_json(const struct inventory *inventory)
{
	struct json_object *object = inventory_json(inventory), *again;
	const char *text;

	fuzz_check(object);
	text = json_object_to_json_string(object);
	again = json_tokener_parse(text);
	fuzz_check(again && json_object_equal(object, again));
	json_object_put(again);
	json_object_put(object);
}

static void check_inventory(const struct inventory *inventory)
{
	char evidence[160];
	size_t lines = 0, most = 1;

	for (size_t i = 0; i < inventory->device_count; i++) {
		const struct inventory_device *device = &inventory->devices[i];

		check_device(inventory, device);
		readiness_check(inventory, device->name, evidence, sizeof(evidence));
		check_ends(evidence);
		most += device->port_count ? 0 : 1;
		for (size_t j = 0; j < device->port_count; j++) {
			most += 1 + device->ports[j].gid_count;
		}
	}
	inventory_lines(inventory, true, check_line, &lines);
	fuzz_check(lines == most);
	if (readiness_check(inventory, NULL, evidence, sizeof(evidence)) == HOST_READY)
		fuzz_check(*evidence == '\0' && inventory->device_count > 0);
	check_ends(evidence);
	check_json(inventory);
}

/* A number consists only of digits, and equals the result of strtoull(3). */
static void check_number(const struct fuzz_input *text)
{
	uint64_t number;
	char *copy = fuzz_copy(text->at, text->left);
	bool is_number = sysfs_decimal(copy, text->left, &number);
	char digits[32] = "";

	free(copy);
	if (!is_number)
		return;
	fuzz_check(text->left > 0);
	for (size_t i = 0; i < text->left; i++)
		fuzz_check(text->at[i] >= '0' && text->at[i] <= '9');
	if (text->left < sizeof(digits)) {
		memcpy(digits, text->at, text->left);
		errno = 0;
		fuzz_check(number == strtoull(digits, NULL, 10) && errno == 0);
	}
}

/* Processors outside the process's own set are never used. */
static void check_locality(void)
{
	struct locality locality;
	cpu_set_t all, both;
	char text[256];

	locality_find("", "rxe0", &locality);
	locality_text(&locality, text, sizeof(text));
	fuzz_check(locality.node >= -1 && locality.restricted == (*text != '\0'));
	if (!locality.restricted)
		return;
	fuzz_check(sched_getaffinity(0, sizeof(all), &all) == 0);
	CPU_AND(&both, &all, &locality.processors);
	fuzz_check(CPU_COUNT(&both) > 0 && CPU_EQUAL(&both, &locality.processors));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inventory inventory;
	static struct counters counters;
	int error;

	tree = (struct fuzz_input){data, size};
	if (fuzz_byte(&tree) & 1) {
		error = counters_read("", "rxe0", 1, &counters);
		fuzz_check(error == 0 || (error == -ENODEV && counters.count == 0));
		for (size_t i = 1; i < counters.count; i++)
			fuzz_check(strcmp(counters.list[i - 1].name, counters.list[i].name) < 0);
		check_locality();
		check_number(&tree);
		return 0;
	}
	fuzz_check(inventory_take_with("", NULL, NULL, &inventory) == 0);
	check_inventory(&inventory);
	inventory_free(&inventory);
	return 0;
}
