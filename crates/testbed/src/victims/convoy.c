/* convoy WAITERS HOLD_US: threads that take one mutex in nested functions.

   With HOLD_US 0 one thread holds it for good and all others wait: a picture that does not change.
   Else every thread takes it, holds it for that long, and takes it again at once, after a pause of
   its own that makes them meet; the totals tell how often it was taken, and for how long. */
#include "victim.h"

static pthread_mutex_t convoy_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct crew waiters = {.role = "convoy-waiter"};
static struct crew holders = {.role = "convoy-holder"};
static long hold_us;
/* Changed under the mutex. */
static unsigned long long taken, held_us;

static FRAME void work_under_the_lock(void) {
    if (hold_us == 0) {
        sleep_us(3600L * 1000000);
    } else {
        sleep_us(hold_us);
        held_us += (unsigned long long)hold_us;
    }
    AFTER_CALL;
}

static FRAME void take_the_lock(void) {
    pthread_mutex_lock(&convoy_mutex);
    taken++;
    if (hold_us > 0)
        work_under_the_lock();
    pthread_mutex_unlock(&convoy_mutex);
    AFTER_CALL;
}

static FRAME void inner_request(void) {
    take_the_lock();
    AFTER_CALL;
}

static FRAME void outer_request(void) {
    inner_request();
    AFTER_CALL;
}

static FRAME void *waiter_thread(void *unused) {
    arrive(&waiters);
    while (!atomic_load(&over)) {
        outer_request();
        if (hold_us > 0)
            sleep_us(hold_us / 4 + 1);
    }
    return unused;
}

static FRAME void hold_the_lock(void) {
    pthread_mutex_lock(&convoy_mutex);
    arrive(&holders);
    work_under_the_lock();
    AFTER_CALL;
}

static FRAME void *holder_thread(void *unused) {
    hold_the_lock();
    return unused;
}

int main(int argc, char **argv) {
    victim_begins("convoy");
    long threads = argument(argc, argv, 1, 8, 1, THREADS_MAX);
    hold_us = argument(argc, argv, 2, 0, 0, 1000000);
    if (hold_us == 0) {
        start_thread(holder_thread, NULL);
        wait_for_crew(&holders, 1);
    }
    for (long n = 0; n < threads; n++)
        start_thread(waiter_thread, NULL);
    if (hold_us == 0)
        wait_until_asleep(&waiters, (int)threads);
    else
        wait_for_crew(&waiters, (int)threads);

    line_begins();
    print_number("mutex", (uintptr_t)&convoy_mutex);
    print_number("hold_us", (unsigned long long)hold_us);
    print_number("holder", holders.tids[0]);
    print_tids("waiters", &waiters);
    print_frames("waiter_frames", (const char *[]){"take_the_lock", "inner_request", "outer_request",
                                                   "waiter_thread", NULL});
    print_frames("holder_frames",
                 hold_us == 0 ? (const char *[]){"work_under_the_lock", "hold_the_lock",
                                                 "holder_thread", NULL}
                              : (const char *[]){"work_under_the_lock", "take_the_lock",
                                                 "inner_request", "outer_request",
                                                 "waiter_thread", NULL});
    line_ends();
    wait_for_the_end();

    if (hold_us > 0) {
        atomic_store(&over, true);
        pthread_mutex_lock(&convoy_mutex);
    }
    line_begins();
    print_number("taken", taken);
    print_number("held_us", held_us);
    line_ends();
    _exit(0);
}
