/* The choice of --poll auto: see measure/waiting.h. */
#include <sched.h>

#include "measure/waiting.h"

unsigned int waiting_processors(void)
{
	cpu_set_t allowed;

	/* Fails if the kernel supports more processors than the set has bits. */
	return sched_getaffinity(0, sizeof(allowed), &allowed) ? 0
							       : (unsigned int)CPU_COUNT(&allowed);
}

enum test_wait waiting_of_latency(unsigned int processors, const char **why)
{
	if (processors == 1) {
		*why = "this process may use only one processor";
		return TEST_EVENT;
	}
	*why = "a latency test spins";
	return TEST_SPIN;
}

enum test_wait waiting_of_trial(unsigned int trial)
{
	/* Event and spin, spin and event, event and spin. */
	return trial % 4 == 0 || trial % 4 == 3 ? TEST_EVENT : TEST_SPIN;
}

enum test_wait waiting_of_bandwidth(const double rates[WAITING_TRIALS], const char **why)
{
	unsigned int spins = 0, pairs = WAITING_TRIALS / 2;

	for (unsigned int i = 0; i < WAITING_TRIALS; i += 2) {
		unsigned int spin = waiting_of_trial(i) == TEST_SPIN ? i : i + 1;

		spins += rates[spin] > rates[spin ^ 1];
	}
	*why = spins == 0 || spins == pairs ? "it was faster in all pairs of trials"
					    : "neither was faster in all pairs of trials";
	return spins == pairs ? TEST_SPIN : TEST_EVENT;
}
