/*
 * Measures the digests of protocol/digest.h and, for comparison, the keyed BLAKE2b of libsodium on
 * one processor. The argument is the number of runs; each run measures all digests in turn.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "protocol/digest.h"

#define RUNS_MAX 1000

/* Bytes per run, and per call: what a stream adds at a time. The data stays in the cache. */
#define RUN_SIZE  ((size_t)256 << 20)
#define PART_SIZE ((size_t)128 << 10)

static const uint8_t key[DIGEST_KEY_SIZE] = {1};

static void run_digester(const uint8_t *part, bool keyed)
{
	struct digester *digester = digester_new();

	if (!digester)
		abort();
	if (keyed)
		digester_set_key(digester, key);
	for (size_t done = 0; done < RUN_SIZE; done += PART_SIZE)
		digester_add(digester, part, PART_SIZE);
	(void)digester_result(digester, DIGEST_STREAM);
	digester_free(digester);
}

static void xxh3(const uint8_t *part)
{
	run_digester(part, false);
}

static void ours(const uint8_t *part)
{
	run_digester(part, true);
}

static void blake2b(const uint8_t *part)
{
	crypto_generichash_state state;
	uint8_t digest[DIGEST_SIZE];

	crypto_generichash_init(&state, key, sizeof(key), sizeof(digest));
	for (size_t done = 0; done < RUN_SIZE; done += PART_SIZE)
		crypto_generichash_update(&state, part, PART_SIZE);
	crypto_generichash_final(&state, digest, sizeof(digest));
}

static const struct {
	const char *name;
	void (*run)(const uint8_t *part);
} digests[] = {{"XXH3", xxh3}, {"BLAKE2b", blake2b}, {"Poly1305-BLAKE2b", ours}};

enum { BLAKE2B = 1, COUNT = sizeof(digests) / sizeof(digests[0]) };

/* The processor time of this thread in seconds. */
static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return first < second ? -1 : first > second;
}

static double median(double *rates, unsigned long runs)
{
	qsort(rates, runs, sizeof(*rates), compare);
	return rates[runs / 2];
}

int main(int argc, char **argv)
{
	static double rates[COUNT][RUNS_MAX];
	static uint8_t part[PART_SIZE];
	unsigned long runs = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	double base;

	if (runs == 0 || runs > RUNS_MAX || sodium_init() < 0) {
		fprintf(stderr, "usage: digest-speed RUNS (1 to %d)\n", RUNS_MAX);
		return 2;
	}
	memset(part, 1, sizeof(part));
	for (unsigned long run = 0; run < runs; run++)
		for (unsigned int i = 0; i < COUNT; i++) {
			double start = now();

			digests[i].run(part);
			rates[i][run] = (double)RUN_SIZE / 1e9 / (now() - start);
		}
	base = median(rates[BLAKE2B], runs);
	printf("%-24s %12s %12s\n", "digest, one processor", "median GB/s", "to BLAKE2b");
	for (unsigned int i = 0; i < COUNT; i++)
		printf("%-24s %12.2f %12.2f\n", digests[i].name, median(rates[i], runs),
			median(rates[i], runs) / base);
	return 0;
}
