// Programs with known waits. The first argument says which; each prints what the test must know
// and "ready", and runs until it is killed.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
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

// Two threads wake each other, as fast as they can.
static uint32_t turn;

static void *pingpong(void *which)
{
	uint32_t mine = (intptr_t)which;

	for (;;) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
			syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
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

// Threads fight for a mutex: `work` rounds inside it, as many outside; one line of acquisitions
// each time the first byte of input arrives.
static long work;

static void spend(long rounds)
{
	for (volatile long i = 0; i < rounds; i++)
		;
}

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

// Two processes wake each other through pipes: switches of a process that is not watched.
static void pipes(void)
{
	int there[2], back[2];
	char byte = 0;

	if (pipe(there) || pipe(back))
		abort();
	if (fork() == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	close(there[0]);
	for (;;) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
		atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
	}
}

static void *pipes_thread(void *unused)
{
	pipes();
	return unused;
}

static void answer_counts(void)
{
	int c;

	while ((c = getchar()) != EOF) {
		printf("%lu\n", atomic_load(&counter));
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
		start(2, pingpong);
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
		start(1, pipes_thread);
		ready();
		answer_counts();
	} else {
		return 2;
	}
	ready();
	for (;;)
		pause();
}
