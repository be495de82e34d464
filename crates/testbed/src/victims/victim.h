/* What the victims share. Each prints one line of JSON when all its threads are where they belong,
   and runs until its standard input ends; then it prints a line with its totals. It dies with the
   thread that started it. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define THREADS_MAX 4096

/* A frame of its own: neither inlined nor cloned under another name. */
#define FRAME __attribute__((noinline, noclone, noipa))

/* Keeps the call before it from becoming a jump, which would leave no frame. */
#define AFTER_CALL __asm__ volatile("" ::: "memory")

static const char *victim_name;

/* Threads that go on look at it. */
static _Atomic bool over;

static inline void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", victim_name, what);
    _exit(1);
}

static inline void victim_begins(const char *name) {
    victim_name = name;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 1 << 16);
}

/* A number from the command line, or else the usual one. */
static inline long argument(int argc, char **argv, int n, long usual, long min, long max) {
    long value = argc > n ? strtol(argv[n], NULL, 10) : usual;
    if (value < min || value > max)
        fail("an argument is out of range");
    return value;
}

static inline uint32_t own_tid(void) {
    return (uint32_t)syscall(SYS_gettid);
}

static inline void sleep_us(long us) {
    struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&time, NULL);
}

/* Small stacks, so that thousands of threads fit. */
static inline pthread_t start_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    if (pthread_create(&thread, &attributes, run, argument) != 0)
        fail("cannot start a thread");
    pthread_attr_destroy(&attributes);
    return thread;
}

/* Threads tell that they are about to be where they belong. */
struct crew {
    const char *role;
    _Atomic int slots_taken;
    _Atomic int arrived;
    uint32_t tids[THREADS_MAX];
};

static inline void arrive(struct crew *crew) {
    char name[16];
    snprintf(name, sizeof name, "%s", crew->role);
    prctl(PR_SET_NAME, name);
    crew->tids[atomic_fetch_add(&crew->slots_taken, 1)] = own_tid();
    atomic_fetch_add(&crew->arrived, 1);
}

static inline void wait_for_crew(struct crew *crew, int count) {
    while (atomic_load(&crew->arrived) < count)
        sleep_us(500);
}

/* Waits until every thread of a crew sleeps, which is what it does where it belongs. */
static inline void wait_until_asleep(struct crew *crew, int count) {
    wait_for_crew(crew, count);
    for (int n = 0; n < count; n++) {
        char path[64], stat[256], state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%u/stat", crew->tids[n]);
        while (state != 'S') {
            int file = open(path, O_RDONLY | O_CLOEXEC);
            ssize_t bytes = file < 0 ? -1 : read(file, stat, sizeof stat - 1);
            if (bytes <= 0)
                fail("a thread is gone");
            close(file);
            stat[bytes] = 0;
            char *name_end = strrchr(stat, ')');
            state = name_end != NULL && name_end[1] != 0 ? name_end[2] : 0;
            if (state != 'S')
                sleep_us(500);
        }
    }
}

static inline void print_tids(const char *key, struct crew *crew) {
    printf(",\"%s\":[", key);
    for (int n = 0; n < atomic_load(&crew->arrived); n++)
        printf("%s%u", n > 0 ? "," : "", crew->tids[n]);
    printf("]");
}

/* Innermost first, up to the thread's own function; those of the C library are left out. */
static inline void print_frames(const char *key, const char *const *names) {
    printf(",\"%s\":[", key);
    for (int n = 0; names[n] != NULL; n++)
        printf("%s\"%s\"", n > 0 ? "," : "", names[n]);
    printf("]");
}

static inline void line_begins(void) {
    printf("{\"victim\":\"%s\",\"pid\":%d", victim_name, (int)getpid());
}

static inline void print_number(const char *key, unsigned long long value) {
    printf(",\"%s\":%llu", key, value);
}

static inline void line_ends(void) {
    printf("}\n");
    fflush(stdout);
}

static inline void wait_for_the_end(void) {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

/* For a thread beside those that work. */
static inline void *listen_for_the_end(void *unused) {
    wait_for_the_end();
    atomic_store(&over, true);
    return unused;
}
