/* arena THREADS: threads in malloc and free of varying sizes, without a pause.

   With GLIBC_TUNABLES=glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0 they fight for the lock
   of the one arena there is, as every server did in 2012. The totals tell how often. */
#include "victim.h"

/* Blocks that a thread has at a time, and their sizes: all below the mmap threshold. */
#define BLOCKS 64
#define BYTES_MIN 16
#define BYTES_MAX 4096

static struct crew workers = {.role = "arena-worker"};
static _Atomic unsigned long long allocations;
static _Atomic int still_working;

static FRAME void *allocate_row(size_t bytes) {
    char *row = malloc(bytes);
    if (row == NULL)
        fail("no memory");
    row[0] = 1;
    return row;
}

static FRAME void free_row(void *row) {
    free(row);
    AFTER_CALL;
}

static FRAME void build_rows(void **rows, uint64_t *random) {
    for (int n = 0; n < BLOCKS; n++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        rows[n] = allocate_row(BYTES_MIN + (*random >> 33) % (BYTES_MAX - BYTES_MIN));
    }
    AFTER_CALL;
}

/* Odd ones first, so that what is freed does not just merge with its neighbour. */
static FRAME void drop_rows(void **rows) {
    for (int n = 1; n < BLOCKS; n += 2)
        free_row(rows[n]);
    for (int n = 0; n < BLOCKS; n += 2)
        free_row(rows[n]);
    AFTER_CALL;
}

static FRAME void *worker_thread(void *number) {
    void *rows[BLOCKS];
    uint64_t random = (uintptr_t)number;
    arrive(&workers);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        build_rows(rows, &random);
        drop_rows(rows);
        atomic_fetch_add_explicit(&allocations, BLOCKS, memory_order_relaxed);
    }
    atomic_fetch_sub(&still_working, 1);
    return NULL;
}

int main(int argc, char **argv) {
    victim_begins("arena");
    long threads = argument(argc, argv, 1, 16, 1, THREADS_MAX);
    atomic_store(&still_working, (int)threads);
    for (long n = 0; n < threads; n++)
        start_thread(worker_thread, (void *)n);
    wait_for_crew(&workers, (int)threads);

    line_begins();
    print_tids("workers", &workers);
    print_frames("allocating_frames",
                 (const char *[]){"allocate_row", "build_rows", "worker_thread", NULL});
    print_frames("freeing_frames",
                 (const char *[]){"free_row", "drop_rows", "worker_thread", NULL});
    line_ends();
    wait_for_the_end();

    atomic_store(&over, true);
    while (atomic_load(&still_working) > 0)
        sleep_us(500);
    line_begins();
    print_number("allocations", atomic_load(&allocations));
    line_ends();
    _exit(0);
}
