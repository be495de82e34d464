// Programs with known waits. The first argument says which; each prints what the test must know
// and "ready", and runs until it is killed.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_ulong counter;

static void rest(long microseconds)
{
	struct timespec t = {microseconds / 1000000, microseconds % 1000000 * 1000};

	nanosleep(&t, NULL);
}

static void start(int threads, void *(*run)(void *))
{
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)(intptr_t)i))
			abort();
	}
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

// Four threads, and whoever has the mutex sleeps 5 ms: three wait at any time.
__attribute__((noinline)) static void convoy_step(void)
{
	pthread_mutex_lock(&mutex);
	rest(5000);
	pthread_mutex_unlock(&mutex);
}

static void *convoy(void *unused)
{
	for (;;)
		convoy_step();
	return unused;
}

// Six threads wait for work, which comes every 2 ms.
static void *idler(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	return unused;
}

static long work;

static void spend(long rounds)
{
	for (volatile long i = 0; i < rounds; i++)
		;
}

// Two threads wake each other after so much work: a wait for every turn.
static uint32_t turn;

static void *pingpong(void *which)
{
	uint32_t mine = (intptr_t)which;

	for (;;) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
		spend(work);
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
		__atomic_store_n(&turn, !mine, __ATOMIC_RELEASE);
		syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

// One thread that waits for what never comes.
static void *stuck(void *unused)
{
	pthread_mutex_lock(&mutex);
	return unused;
}

// Threads that do nothing but map and unmap.
static void *mapper(void *unused)
{
	for (;;) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED)
			abort();
		munmap(p, 1 << 20);
	}
	return unused;
}

// Many locks, each waited for once: one thread holds them all.
#define LOCKS 6000
static pthread_mutex_t many[LOCKS];

static void *toucher(void *unused)
{
	struct timespec soon;

	for (;;) {
		for (int i = 0; i < LOCKS; i++) {
			clock_gettime(CLOCK_REALTIME, &soon);
			soon.tv_nsec += 20000;
			if (soon.tv_nsec >= 1000000000) {
				soon.tv_nsec -= 1000000000;
				soon.tv_sec++;
			}
			pthread_mutex_timedlock(&many[i], &soon);
		}
	}
	return unused;
}

// Threads fight for a mutex: `work` rounds inside it, as many outside.
static void *hammer(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		spend(work);
		pthread_mutex_unlock(&mutex);
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
		spend(work);
	}
	return unused;
}

// Two threads wake each other through pipes: switches that are no futex waits, of a process that is
// not watched.
static int there[2], back[2];

static void *asks(void *unused)
{
	char byte = 0;

	for (;;) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
	}
	return unused;
}

static void *answers(void *unused)
{
	char byte = 0;

	while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
		;
	return unused;
}

// On one processor every turn is a switch, and nothing spins or migrates in between.
static void on_one_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

// For each byte of input a line with the counter and the processor time used, nanoseconds.
static void answer_counts(void)
{
	int c;

	while ((c = getchar()) != EOF) {
		struct timespec t;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		printf("%lu %lu\n", atomic_load(&counter), t.tv_sec * 1000000000UL + t.tv_nsec);
		fflush(stdout);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	printf("mutex %lu\n", (unsigned long)&mutex);
	printf("cond %lu %lu\n", (unsigned long)&cond, (unsigned long)(&cond + 1));
	printf("turn %lu\n", (unsigned long)&turn);
	printf("convoy_step %lu\n", (unsigned long)convoy_step);
	if (!strcmp(what, "convoy")) {
		start(4, convoy);
	} else if (!strcmp(what, "idlers")) {
		start(6, idler);
		ready();
		for (;;) {
			rest(2000);
			pthread_cond_signal(&cond);
		}
	} else if (!strcmp(what, "pingpong")) {
		work = argc > 2 ? atol(argv[2]) : 0;
		if (argc > 2)
			on_one_processor();
		start(2, pingpong);
		ready();
		answer_counts();
	} else if (!strcmp(what, "stuck")) {
		pthread_mutex_lock(&mutex);
		start(1, stuck);
		rest(50000);
	} else if (!strcmp(what, "mappers")) {
		start(6, mapper);
	} else if (!strcmp(what, "many")) {
		for (int i = 0; i < LOCKS; i++) {
			pthread_mutex_init(&many[i], NULL);
			pthread_mutex_lock(&many[i]);
		}
		start(2, toucher);
	} else if (!strcmp(what, "hammer")) {
		work = atol(argv[3]);
		start(atoi(argv[2]), hammer);
		ready();
		answer_counts();
	} else if (!strcmp(what, "pipes")) {
		if (pipe(there) || pipe(back))
			abort();
		on_one_processor();
		start(1, asks);
		start(1, answers);
		ready();
		answer_counts();
	} else {
		return 2;
	}
	ready();
	for (;;)
		pause();
}
