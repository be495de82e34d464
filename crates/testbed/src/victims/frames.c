/* frames THREADS CHURN: stacks that are hard to unwind, built without frame pointers.

   THREADS sleep above functions whose frame's size is known at run time only; as many sleep in the
   handler of a signal that came while they ran code of their own; as many sleep below nested
   functions that use every register that a function must keep. CHURN threads live for a
   millisecond each, and each is followed by the next. */
#include "victim.h"
#include <alloca.h>

static struct crew alloca_crew = {.role = "alloca"};
static struct crew signal_crew = {.role = "signalled"};
static struct crew plain_crew = {.role = "plain"};
static _Atomic int spinning;
static _Atomic unsigned long long born;

static FRAME void sleep_for_good(void) {
    for (;;)
        sleep_us(3600L * 1000000);
}

static FRAME void sleep_beside(volatile char *bytes) {
    bytes[0] = 1;
    sleep_for_good();
    AFTER_CALL;
}

static FRAME void with_alloca(size_t bytes) {
    volatile char *memory = alloca(bytes);
    sleep_beside(memory);
    memory[0] = 2;
}

static FRAME void *alloca_thread(void *number) {
    arrive(&alloca_crew);
    with_alloca(100 + 37 * (size_t)number);
    AFTER_CALL;
    return NULL;
}

static FRAME void sleep_in_handler(void) {
    arrive(&signal_crew);
    sleep_for_good();
    AFTER_CALL;
}

static void on_signal(int signal) {
    (void)signal;
    sleep_in_handler();
    AFTER_CALL;
}

/* Calls nothing, so that the signal does not come behind a call instruction. */
static FRAME void spin_until_signal(void) {
    atomic_fetch_add(&spinning, 1);
    for (;;)
        __asm__ volatile("" ::: "memory");
}

static FRAME void *signalled_thread(void *unused) {
    spin_until_signal();
    AFTER_CALL;
    return unused;
}

/* Nine values live across the calls: all callee-saved registers are in use, and saved below. */
static FRAME uint64_t keep_registers(uint64_t a, uint64_t b, uint64_t c, int depth) {
    uint64_t d = a * b, e = b * c, f = c * a, g = a + b, h = b ^ c, i = c - a;
    uint64_t below = 0;
    if (depth > 0)
        below = keep_registers(g, h, i, depth - 1);
    else
        sleep_for_good();
    AFTER_CALL;
    return a + b + c + d * e + f * g + h * i + below;
}

static FRAME void *plain_thread(void *number) {
    arrive(&plain_crew);
    volatile uint64_t sum = keep_registers((uintptr_t)number, 3, 5, 3);
    (void)sum;
    return NULL;
}

static FRAME void live_shortly(void) {
    sleep_us(1000);
    AFTER_CALL;
}

static FRAME void *short_lived_thread(void *unused) {
    prctl(PR_SET_NAME, "short-lived");
    atomic_fetch_add(&born, 1);
    live_shortly();
    AFTER_CALL;
    return unused;
}

static FRAME void *mother_thread(void *unused) {
    prctl(PR_SET_NAME, "mother");
    while (!atomic_load(&over))
        pthread_join(start_thread(short_lived_thread, NULL), NULL);
    return unused;
}

int main(int argc, char **argv) {
    victim_begins("frames");
    long threads = argument(argc, argv, 1, 4, 1, THREADS_MAX);
    long churn = argument(argc, argv, 2, 4, 0, 64);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    for (long n = 0; n < threads; n++) {
        start_thread(alloca_thread, (void *)n);
        start_thread(plain_thread, (void *)n);
        /* One at a time: while it spins it takes a processor. */
        pthread_t signalled = start_thread(signalled_thread, NULL);
        while (atomic_load(&spinning) <= n)
            sleep_us(500);
        pthread_kill(signalled, SIGUSR1);
        wait_for_crew(&signal_crew, (int)n + 1);
    }
    wait_until_asleep(&alloca_crew, (int)threads);
    wait_until_asleep(&plain_crew, (int)threads);
    wait_until_asleep(&signal_crew, (int)threads);
    for (long n = 0; n < churn; n++)
        start_thread(mother_thread, NULL);

    line_begins();
    print_number("churn", (unsigned long long)churn);
    print_tids("alloca", &alloca_crew);
    print_tids("signalled", &signal_crew);
    print_tids("plain", &plain_crew);
    print_frames("alloca_frames", (const char *[]){"sleep_for_good", "sleep_beside", "with_alloca",
                                                   "alloca_thread", NULL});
    /* The kernel's frame, with the C library's return from it, is behind on_signal. */
    print_frames("handler_frames",
                 (const char *[]){"sleep_for_good", "sleep_in_handler", "on_signal", NULL});
    print_frames("interrupted_frames",
                 (const char *[]){"spin_until_signal", "signalled_thread", NULL});
    print_frames("plain_frames",
                 (const char *[]){"sleep_for_good", "keep_registers", "keep_registers",
                                  "keep_registers", "keep_registers", "plain_thread", NULL});
    line_ends();
    wait_for_the_end();

    atomic_store(&over, true);
    line_begins();
    print_number("born", atomic_load(&born));
    line_ends();
    _exit(0);
}
