/*
 * Reads files and directories of sysfs, /proc and /dev below a root directory. Nothing stays open
 * between calls; the caller owns all results.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/sysfs.h"

/* Longer than any 64-bit number with its line end. */
#define NUMBER_SIZE 32

static int make_path(char path[PATH_MAX], const char *root, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));
static int read_text(const char *root, char *text, size_t size, const char *format,
	va_list arguments) __attribute__((format(printf, 4, 0)));

/* Builds the path below root. Returns 0 or -ENAMETOOLONG. */
static int make_path(char path[PATH_MAX], const char *root, const char *format, va_list arguments)
{
	int used = snprintf(path, PATH_MAX, "%s", root);
	int more;

	if (used < 0 || used >= PATH_MAX)
		return -ENAMETOOLONG;
	more = vsnprintf(path + used, PATH_MAX - (size_t)used, format, arguments);
	return more < 0 || more >= PATH_MAX - used ? -ENAMETOOLONG : 0;
}

/* Reads up to size - 1 bytes. Returns 0 or -errno. */
static int read_path(const char *path, char *text, size_t size)
{
	/* O_NONBLOCK: opening a pipe instead of a file must not block. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t used = 0;
	ssize_t length = 1;
	int error = 0;

	*text = '\0';
	if (file < 0)
		return -errno;
	while (length && used < size - 1) {
		length = read(file, text + used, size - 1 - used);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0) {
			error = -errno;
			break;
		}
		used += (size_t)length;
	}
	close(file);
	text[error ? 0 : used] = '\0';
	return error;
}

static int read_text(
	const char *root, char *text, size_t size, const char *format, va_list arguments)
{
	char path[PATH_MAX];
	int error = make_path(path, root, format, arguments);

	*text = '\0';
	return error ? error : read_path(path, text, size);
}

/* Truncates the text to its first line and removes trailing white space. */
static void keep_line(char *text)
{
	size_t length = strcspn(text, "\n");

	while (length && strchr(" \t\r", text[length - 1]))
		length--;
	text[length] = '\0';
}

int sysfs_text(const char *root, char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, format);
	error = read_text(root, text, size, format, arguments);
	va_end(arguments);
	return error;
}

int sysfs_line(const char *root, char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int error;

	va_start(arguments, format);
	error = read_text(root, text, size, format, arguments);
	va_end(arguments);
	keep_line(text);
	return error;
}

bool sysfs_decimal(const char *digits, size_t length, uint64_t *number)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length; i++) {
		if (digits[i] < '0' || digits[i] > '9' ||
			__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value))
			return false;
	}
	if (length)
		*number = value;
	return length > 0;
}

/* Parses up to 16 hexadecimal digits after "0x". */
static bool parse_hexadecimal(const char *text, uint64_t *number)
{
	size_t length;

	if (strncmp(text, "0x", 2) != 0)
		return false;
	length = strspn(text + 2, "0123456789abcdefABCDEF");
	if (length < 1 || length > 16 || text[2 + length])
		return false;
	*number = strtoull(text + 2, NULL, 16);
	return true;
}

int sysfs_number(const char *root, uint64_t *number, const char *format, ...)
{
	char text[NUMBER_SIZE];
	va_list arguments;
	int error;

	*number = 0;
	va_start(arguments, format);
	error = read_text(root, text, sizeof(text), format, arguments);
	va_end(arguments);
	if (error)
		return error;
	/* Text that fills the array may have been truncated. */
	if (strlen(text) == sizeof(text) - 1)
		return -EINVAL;
	keep_line(text);
	if (sysfs_decimal(text, strlen(text), number) || parse_hexadecimal(text, number))
		return 0;
	return -EINVAL;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int sysfs_list(const char *root, struct dirent ***entries, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int error, count;

	*entries = NULL;
	va_start(arguments, format);
	error = make_path(path, root, format, arguments);
	va_end(arguments);
	if (error)
		return error;
	count = scandir(path, entries, is_shown, versionsort);
	return count < 0 ? -errno : count;
}

void sysfs_free(struct dirent **entries, int count)
{
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
}

enum sysfs_access sysfs_access(const char *root, const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int error;

	va_start(arguments, format);
	error = make_path(path, root, format, arguments);
	va_end(arguments);
	if (error)
		return SYSFS_MISSING;
	if (access(path, R_OK | W_OK) == 0)
		return SYSFS_GRANTED;
	return errno == EACCES || errno == EPERM ? SYSFS_DENIED : SYSFS_MISSING;
}

void sysfs_link(const char *root, char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	va_list arguments;
	const char *slash;
	ssize_t length;
	int error;

	*text = '\0';
	va_start(arguments, format);
	error = make_path(path, root, format, arguments);
	va_end(arguments);
	length = error ? -1 : readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return;
	target[length] = '\0';
	slash = strrchr(target, '/');
	snprintf(text, size, "%s", slash ? slash + 1 : target);
}

bool sysfs_is_name(const char *text)
{
	return text[0] && text[0] != '.' && !strchr(text, '/');
}
