/* idlers THREADS DEPTH: threads that wait for work on a condition variable, DEPTH frames deep: that
   many of `descend`, and `wait_for_work` innermost. They wait for ever and contend for nothing. */
#include "victim.h"

static pthread_mutex_t work_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_arrived = PTHREAD_COND_INITIALIZER;
static bool there_is_work;
static struct crew idlers = {.role = "idler"};

static FRAME void wait_for_work(void) {
    pthread_mutex_lock(&work_mutex);
    arrive(&idlers);
    while (!there_is_work)
        pthread_cond_wait(&work_arrived, &work_mutex);
    pthread_mutex_unlock(&work_mutex);
    AFTER_CALL;
}

static FRAME void descend(long frames) {
    if (frames > 1)
        descend(frames - 1);
    else
        wait_for_work();
    AFTER_CALL;
}

static FRAME void *idler_thread(void *depth) {
    descend((long)depth);
    AFTER_CALL;
    return NULL;
}

int main(int argc, char **argv) {
    victim_begins("idlers");
    long threads = argument(argc, argv, 1, 100, 1, THREADS_MAX);
    long depth = argument(argc, argv, 2, 30, 1, 500);
    for (long n = 0; n < threads; n++)
        start_thread(idler_thread, (void *)depth);
    wait_until_asleep(&idlers, (int)threads);

    line_begins();
    print_number("condition", (uintptr_t)&work_arrived);
    print_number("mutex", (uintptr_t)&work_mutex);
    print_number("depth", (unsigned long long)depth);
    print_tids("idlers", &idlers);
    print_frames("outer_frames", (const char *[]){"idler_thread", NULL});
    print_frames("repeated_frame", (const char *[]){"descend", NULL});
    print_frames("inner_frames", (const char *[]){"wait_for_work", NULL});
    line_ends();
    wait_for_the_end();
    _exit(0);
}
