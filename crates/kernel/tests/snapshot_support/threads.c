/* A process with threads in known places.
 *
 *   threads COUNT DEPTH [churn|relay|map|lock|spin|leave]...
 *
 * COUNT threads named w-INDEX wait on a condition variable, DEPTH frames deep, each frame with a
 * mark of its own on the stack. Extras: `churn` makes and ends threads all the time, `relay` keeps
 * 200 threads each of which soon starts another and ends, `map` holds
 * mmap_lock most of the time, `lock` adds a thread "owner" that holds a mutex and four threads
 * "blocked" that wait for it, `spin` adds a thread "spin" that never waits, `leave` ends the first
 * thread alone.
 *
 * Says "ready" when all are in place. The line "wake" wakes thread 0, which goes to sleep again,
 * and is answered with "woken". Ends with its input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int waiting, wakes, woken, holds, depth_max;

static __attribute__((noinline)) uint64_t descend(int index, int depth)
{
	volatile uint64_t mark[4];

	for (int i = 0; i < 4; i++)
		mark[i] = 0xC0FFEE0000000000ull | (uint64_t)index << 16 | (uint64_t)depth;
	if (depth < depth_max)
		return descend(index, depth + 1) + mark[0];
	pthread_mutex_lock(&mutex);
	waiting++;
	pthread_cond_signal(&changed);
	for (int seen = 0;;) {
		pthread_cond_wait(index == 0 ? &wake : &never, &mutex);
		if (index == 0 && wakes > seen) {
			seen = woken = wakes;
			pthread_cond_signal(&changed);
		}
	}
	return mark[1];
}

static void *wait_deep(void *argument)
{
	char name[16];
	int index = (int)(intptr_t)argument;

	snprintf(name, sizeof name, "w-%d", index);
	pthread_setname_np(pthread_self(), name);
	return (void *)(intptr_t)descend(index, 0);
}

static void *end_at_once(void *argument)
{
	return argument;
}

static void *churn(void *argument)
{
	pthread_setname_np(pthread_self(), "churn");
	for (;;) {
		pthread_t few[8];
		for (int i = 0; i < 8; i++)
			pthread_create(&few[i], NULL, end_at_once, NULL);
		for (int i = 0; i < 8; i++)
			pthread_join(few[i], NULL);
	}
	return argument;
}

static void start(void *(*body)(void *), intptr_t argument);

static void *relay(void *argument)
{
	unsigned short state[3] = {(unsigned short)(intptr_t)argument, 1, 2};

	pthread_setname_np(pthread_self(), "relay");
	pthread_detach(pthread_self());
	usleep(1000 + nrand48(state) % 8000);
	start(relay, nrand48(state));
	return NULL;
}

static void *map(void *argument)
{
	size_t bytes = 64 << 20;

	pthread_setname_np(pthread_self(), "map");
	for (;;) {
		void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		if (at != MAP_FAILED)
			munmap(at, bytes);
	}
	return argument;
}

static void *own(void *argument)
{
	pthread_setname_np(pthread_self(), "owner");
	pthread_mutex_lock(&held);
	pthread_mutex_lock(&mutex);
	holds = 1;
	pthread_cond_signal(&changed);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	return argument;
}

static void *block(void *argument)
{
	pthread_setname_np(pthread_self(), "blocked");
	pthread_mutex_lock(&held);
	return argument;
}

static void *spin(void *argument)
{
	pthread_setname_np(pthread_self(), "spin");
	for (volatile uint64_t turns = 0;;)
		turns++;
	return argument;
}

static void *listen(void *argument)
{
	char line[64];

	while (fgets(line, sizeof line, stdin)) {
		if (strcmp(line, "wake\n") != 0)
			continue;
		pthread_mutex_lock(&mutex);
		wakes++;
		pthread_cond_signal(&wake);
		while (woken != wakes)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		/* Until it sleeps again. */
		usleep(50000);
		puts("woken");
		fflush(stdout);
	}
	exit(0);
	return argument;
}

static void start(void *(*body)(void *), intptr_t argument)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	if (pthread_create(&thread, &attributes, body, (void *)argument) != 0) {
		puts("too many threads");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]);
	int leave = 0;

	depth_max = atoi(argv[2]);
	for (int i = 0; i < count; i++)
		start(wait_deep, i);
	pthread_mutex_lock(&mutex);
	while (waiting < count)
		pthread_cond_wait(&changed, &mutex);
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "churn") == 0)
			start(churn, 0);
		if (strcmp(argv[i], "relay") == 0)
			for (int k = 0; k < 200; k++)
				start(relay, k);
		if (strcmp(argv[i], "map") == 0)
			start(map, 0);
		if (strcmp(argv[i], "spin") == 0)
			start(spin, 0);
		if (strcmp(argv[i], "leave") == 0)
			leave = 1;
		if (strcmp(argv[i], "lock") == 0) {
			start(own, 0);
			while (!holds)
				pthread_cond_wait(&changed, &mutex);
			for (int k = 0; k < 4; k++)
				start(block, 0);
		}
	}
	pthread_mutex_unlock(&mutex);
	/* Until the last of them sleeps. */
	usleep(100000);
	if (leave)
		start(listen, 0);
	puts("ready");
	fflush(stdout);
	if (leave)
		pthread_exit(NULL);
	listen(NULL);
}
