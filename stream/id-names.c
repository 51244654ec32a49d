/* See stream/id-names.h. The lock is held during a lookup: others likely wait for the same one. */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "stream/id-names.h"

/* How many results are remembered, and the longest name of one, in bytes. */
#define REMEMBERED 64
#define SHORT      40

/* Bytes for the text of a user or group, which doubles: a group lists its members. */
#define TEXT_SIZE 1024
#define TEXT_MAX  (1 << 20)

/* The result of a lookup. The peer's number matters only for a name that is unknown here. */
struct result {
	bool known, group;
	bool exists;
	uint32_t number;
	char name[SHORT + 1]; /* "": there is none */
};

struct id_names {
	pthread_mutex_t lock;                /* protects everything */
	struct result by_number[REMEMBERED]; /* at the place of the number */
	struct result by_name[REMEMBERED];   /* at the place of the name */
};

struct id_names *id_names_new(void)
{
	struct id_names *names = calloc(1, sizeof(*names));

	if (names)
		pthread_mutex_init(&names->lock, NULL);
	return names;
}

void id_names_free(struct id_names *names)
{
	if (!names)
		return;
	pthread_mutex_destroy(&names->lock);
	free(names);
}

/* What is asked for: the user or group with this name or, if that is NULL, this number. */
struct question {
	bool group;
	const char *name;
	uint32_t number;
};

/* Asks with room for this much text. Returns 0, or an errno: ERANGE: there is not enough. */
static int ask_once(const struct question *question, char *text, size_t size,
	char name[ATTRIBUTE_NAME_MAX + 1], uint32_t *number, bool *exists)
{
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;
	const char *found = NULL;
	int error;

	if (question->group)
		error = question->name
				? getgrnam_r(question->name, &group, text, size, &found_group)
				: getgrgid_r(question->number, &group, text, size, &found_group);
	else
		error = question->name
				? getpwnam_r(question->name, &user, text, size, &found_user)
				: getpwuid_r(question->number, &user, text, size, &found_user);
	if (found_group) {
		found = group.gr_name;
		*number = group.gr_gid;
	} else if (found_user) {
		found = user.pw_name;
		*number = user.pw_uid;
	}
	*exists = found && attribute_is_account(found, strlen(found));
	if (*exists)
		strcpy(name, found);
	return error;
}

/* Asks the name service. Without memory, or if that fails, the answer does not exist. */
static bool ask(
	const struct question *question, char name[ATTRIBUTE_NAME_MAX + 1], uint32_t *number)
{
	bool exists = false;
	int error = ERANGE;

	for (size_t size = TEXT_SIZE; error == ERANGE && size <= TEXT_MAX; size *= 2) {
		char *text = malloc(size);

		if (!text)
			return false;
		error = ask_once(question, text, size, name, number, &exists);
		free(text);
	}
	return exists;
}

static struct result *place_of_name(struct id_names *names, const char *name)
{
	size_t sum = 0;

	for (; *name; name++)
		sum = sum * 31 + (unsigned char)*name;
	return &names->by_name[sum % REMEMBERED];
}

void id_names_name(
	struct id_names *names, bool group, uint32_t number, char name[ATTRIBUTE_NAME_MAX + 1])
{
	struct result *result = &names->by_number[(number * 2 + group) % REMEMBERED];
	uint32_t found;

	pthread_mutex_lock(&names->lock);
	if (result->known && result->group == group && result->number == number) {
		strcpy(name, result->name);
	} else {
		if (!ask(&(struct question){.group = group, .number = number}, name, &found))
			*name = '\0';
		if (strlen(name) <= SHORT) {
			*result = (struct result){.known = true, .group = group, .number = number};
			strcpy(result->name, name);
		}
	}
	pthread_mutex_unlock(&names->lock);
}

/* Finds a terminated name. Returns false if it does not exist. */
static bool find(struct id_names *names, bool group, const char *name, uint32_t *number)
{
	struct result *result = place_of_name(names, name);
	char found[ATTRIBUTE_NAME_MAX + 1];
	bool exists;

	if (result->known && result->group == group && strcmp(result->name, name) == 0) {
		*number = result->number;
		return result->exists;
	}
	exists = ask(&(struct question){.group = group, .name = name}, found, number);
	if (strlen(name) <= SHORT) {
		*result = (struct result){.known = true,
			.group = group,
			.exists = exists,
			.number = exists ? *number : 0};
		strcpy(result->name, name);
	}
	return exists;
}

uint32_t id_names_number(
	struct id_names *names, bool group, const char *name, size_t size, uint32_t number)
{
	char terminated[ATTRIBUTE_NAME_MAX + 1];
	uint32_t found = 0;
	bool exists;

	if (size == 0 || !attribute_is_account(name, size))
		return number;
	memcpy(terminated, name, size);
	terminated[size] = '\0';
	pthread_mutex_lock(&names->lock);
	exists = find(names, group, terminated, &found);
	pthread_mutex_unlock(&names->lock);
	return exists ? found : number;
}
