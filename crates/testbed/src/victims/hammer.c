/* hammer WORK_NS: two threads on one processor that take turns at a futex, WORK_NS nanoseconds of
   work each: every turn is one wait, and the rate of waits is what the work leaves time for.

   For each byte of input it answers with a line: turns so far, and the processor time of the
   process, nanoseconds. On one processor nothing spins or migrates, so that what a turn takes is
   the same from one moment to the next, and more processor time a turn is what somebody added. */
#include "victim.h"
#include <linux/futex.h>
#include <sched.h>

#define CALIBRATION_ROUNDS 20000000L

static struct crew workers = {.role = "hammer"};
static _Atomic uint32_t turn;
static _Atomic unsigned long long turns;
static long rounds;

static unsigned long long clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (unsigned long long)time.tv_sec * 1000000000ULL + (unsigned long long)time.tv_nsec;
}

/* Rounds and not a time: what delays it must not shorten it. */
static FRAME void work(long count) {
    for (volatile long n = 0; n < count; n++)
        ;
    AFTER_CALL;
}

static FRAME void wait_for_turn(uint32_t mine) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !mine, NULL, NULL, 0);
    AFTER_CALL;
}

static FRAME void *hammer_thread(void *which) {
    uint32_t mine = (uint32_t)(uintptr_t)which;
    arrive(&workers);
    for (;;) {
        wait_for_turn(mine);
        work(rounds);
        atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
        atomic_store_explicit(&turn, !mine, memory_order_release);
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return NULL;
}

static void on_the_last_processor(void) {
    cpu_set_t allowed, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        fail("cannot read the processors");
    for (int n = CPU_SETSIZE - 1; n >= 0 && CPU_COUNT(&one) == 0; n--)
        if (CPU_ISSET(n, &allowed))
            CPU_SET(n, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        fail("cannot choose a processor");
}

static void print_counts(void) {
    line_begins();
    print_number("turns", atomic_load(&turns));
    print_number("cpu_ns", clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    line_ends();
}

int main(int argc, char **argv) {
    victim_begins("hammer");
    long work_ns = argument(argc, argv, 1, 0, 0, 1000000000);
    on_the_last_processor();
    unsigned long long before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work(CALIBRATION_ROUNDS);
    double round_ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) / CALIBRATION_ROUNDS;
    rounds = (long)((double)work_ns / round_ns);
    start_thread(hammer_thread, (void *)0);
    start_thread(hammer_thread, (void *)1);
    wait_for_crew(&workers, 2);

    line_begins();
    print_number("futex", (uintptr_t)&turn);
    print_tids("workers", &workers);
    print_frames("frames", (const char *[]){"wait_for_turn", "hammer_thread", NULL});
    line_ends();
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        print_counts();
    print_counts();
    _exit(0);
}
