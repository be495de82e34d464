/* Uses processors in known functions. Arguments: mode, number of threads.
   Mode "closed" makes itself undumpable, as a server does that root starts and that changes its user.
   Prints the range of the function that its threads are in, once all of them are about to call it (the first sample of a
   thread that only begins can be of the page fault that gives it its stack, which cannot be copied then), and waits for
   the end of its input; then "late" makes one more thread and goes on until it is killed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned long counter;
static pthread_barrier_t started;

__attribute__((noinline)) static void spin_here(void) {
    for (;;) counter++;
}
__attribute__((noinline)) static void spin_end(void) { counter = 0; }

__attribute__((noinline)) static void call_here(void) {
    static char buffer[1 << 16];
    int zero = open("/dev/zero", O_RDONLY);
    for (;;) counter += syscall(SYS_read, zero, buffer, sizeof buffer);
}
__attribute__((noinline)) static void call_end(void) { counter = 1; }

static void *spin(void *unused) {
    (void)unused;
    pthread_barrier_wait(&started);
    spin_here();
    return NULL;
}

static void *call(void *unused) {
    (void)unused;
    pthread_barrier_wait(&started);
    call_here();
    return NULL;
}

static void *late(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "late");
    spin_here();
    return NULL;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "spin";
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    int calls = strcmp(mode, "call") == 0;
    prctl(PR_SET_PDEATHSIG, 9);
    if (strcmp(mode, "closed") == 0) prctl(PR_SET_DUMPABLE, 0);
    pthread_barrier_init(&started, NULL, (unsigned)threads + 1);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, calls ? call : spin, NULL);
    }
    pthread_barrier_wait(&started);
    if (calls)
        printf("%p %p\n", (void *)call_here, (void *)call_end);
    else
        printf("%p %p\n", (void *)spin_here, (void *)spin_end);
    fflush(stdout);
    while (getchar() != EOF) {
    }
    if (strcmp(mode, "late") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, late, NULL);
    }
    for (;;) pause();
}
