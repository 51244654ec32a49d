/*
 * Starting fast. Before libibverbs looks for devices it loads a provider library for every adapter
 * that the distribution knows, which is most of a short program's start. It does so only if a
 * device is left that no provider claims, and providers announce themselves when they are loaded.
 * So we load the one or two that this host's devices probably need. A wrong guess costs a little
 * time and changes nothing: libibverbs then loads the rest as always.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <infiniband/verbs.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rdma-common.h"

/* Loads the provider of that name from libibverbs' own folder, if it is there. */
static void load(const char *folder, const char *provider)
{
	char pattern[PATH_MAX];
	glob_t found;

	/* The number in the file's name is the version of a private interface. */
	snprintf(pattern, sizeof(pattern), "%s/libibverbs/lib%s-rdmav*.so", folder, provider);
	if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1)
		/* cppcheck-suppress leakReturnValNotUsed ; it stays for the life of the process */
		dlopen(found.gl_pathv[0], RTLD_NOW);
	globfree(&found);
}

/* Loads what the device probably needs: its kernel driver's namesake, or both soft drivers. */
static void load_for(const char *folder, const char *device)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t length;
	char *driver, *core;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0) {
		load(folder, "rxe");
		load(folder, "siw");
		return;
	}
	target[length] = '\0';
	driver = basename(target);
	core = strstr(driver, "_core");
	if (core)
		*core = '\0';
	load(folder, driver);
}

void providers_preload(void)
{
	DIR *devices = opendir("/sys/class/infiniband");
	struct dirent *device;
	char library[PATH_MAX];
	const char *folder;
	Dl_info verbs;

	if (!devices)
		return;
	if (dladdr((void *)ibv_get_device_list, &verbs) && verbs.dli_fname) {
		snprintf(library, sizeof(library), "%s", verbs.dli_fname);
		folder = dirname(library);
		while ((device = readdir(devices)))
			if (device->d_name[0] != '.')
				load_for(folder, device->d_name);
	}
	closedir(devices);
}
