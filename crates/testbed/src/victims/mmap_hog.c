/* mmap_hog HOGS SLEEPERS MEGABYTES: threads that map, populate and unmap memory without a pause,
   each time holding the process's mmap_lock for writing, beside threads that sleep. Who reads the
   sleepers' memory, or /proc/PID/maps, waits for the hogs. */
#include "victim.h"
#include <sys/mman.h>

static struct crew hogs = {.role = "mmap-hog"};
static struct crew sleepers = {.role = "sleeper"};
static _Atomic unsigned long long mappings;
static size_t bytes;

static FRAME void populate_and_unmap(void) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        fail("no memory");
    munmap(memory, bytes);
    AFTER_CALL;
}

static FRAME void *hog_thread(void *unused) {
    arrive(&hogs);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        populate_and_unmap();
        atomic_fetch_add_explicit(&mappings, 1, memory_order_relaxed);
    }
    return unused;
}

static FRAME void sleep_inside(void) {
    for (;;)
        sleep_us(3600L * 1000000);
}

static FRAME void *sleeper_thread(void *unused) {
    arrive(&sleepers);
    sleep_inside();
    AFTER_CALL;
    return unused;
}

int main(int argc, char **argv) {
    victim_begins("mmap_hog");
    long hog_count = argument(argc, argv, 1, 2, 1, 64);
    long sleeper_count = argument(argc, argv, 2, 20, 1, THREADS_MAX);
    long megabytes = argument(argc, argv, 3, 16, 1, 1024);
    bytes = (size_t)megabytes << 20;
    for (long n = 0; n < sleeper_count; n++)
        start_thread(sleeper_thread, NULL);
    wait_until_asleep(&sleepers, (int)sleeper_count);
    for (long n = 0; n < hog_count; n++)
        start_thread(hog_thread, NULL);
    wait_for_crew(&hogs, (int)hog_count);

    line_begins();
    print_number("bytes", bytes);
    print_tids("hogs", &hogs);
    print_tids("sleepers", &sleepers);
    print_frames("hog_frames", (const char *[]){"populate_and_unmap", "hog_thread", NULL});
    print_frames("sleeper_frames", (const char *[]){"sleep_inside", "sleeper_thread", NULL});
    line_ends();
    wait_for_the_end();

    atomic_store(&over, true);
    line_begins();
    print_number("mappings", atomic_load(&mappings));
    line_ends();
    _exit(0);
}
