/* pager PID [FILE]: sends the memory of a process to swap, again and again, as a kernel does that takes it for idle.
   What the process touches comes back (madvise(2), MADV_PAGEOUT; process_madvise(2)). With memory to spare, a page that
   was written to swap stays in the swap cache too, and comes back without a read: FILE is memory.force_empty of the
   process's control group, which drops it there (Documentation/admin-guide/cgroup-v1/memory.rst, 5.1). */
#include "victim.h"
#include <inttypes.h>
#include <sys/uio.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

/* The kernel takes a round of so many bytes without looking at signals. */
#define PIECE (64UL << 20)
/* Stacks and small things stay. */
#define LEAST (4UL << 20)
#define PAUSE_US 50000

static unsigned long long rounds, bytes;

/* Every large mapping of memory that is nobody's file. */
static void round_of(int process, const char *path) {
    FILE *maps = fopen(path, "re");
    char line[4352];
    if (maps == NULL)
        fail("the process is gone");
    while (!atomic_load(&over) && fgets(line, sizeof line, maps) != NULL) {
        uint64_t from, to, inode;
        char access[5];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &from, &to, access, &inode) != 4)
            continue;
        if (access[1] != 'w' || inode != 0 || to - from < LEAST)
            continue;
        for (uint64_t at = from; at < to && !atomic_load(&over); at += PIECE) {
            struct iovec piece = {.iov_base = (void *)(uintptr_t)at, .iov_len = to - at < PIECE ? to - at : PIECE};
            long done = syscall(SYS_process_madvise, process, &piece, 1UL, MADV_PAGEOUT, 0UL);
            if (done > 0)
                bytes += (unsigned long long)done;
        }
    }
    fclose(maps);
    rounds++;
}

/* The kernel leaves a write only when nothing goes any more or the process ends: a thread of its own. */
static void *empty_the_cache(void *path) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        fail("the control group cannot be emptied");
    while (!atomic_load(&over)) {
        /* EBUSY: it stopped with something left. */
        (void)!write(file, "0", 1);
        sleep_us(PAUSE_US);
    }
    return NULL;
}

int main(int argc, char **argv) {
    victim_begins("pager");
    long pid = argument(argc, argv, 1, 0, 1, 1L << 30);
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (process < 0)
        fail("there is no such process");
    start_thread(listen_for_the_end, NULL);
    /* The first round takes seconds where the process takes back what it loses. */
    if (argc > 2)
        start_thread(empty_the_cache, argv[2]);
    round_of(process, path);
    if (bytes == 0)
        fail("the kernel does not page a process out for us");
    line_begins();
    line_ends();
    while (!atomic_load(&over)) {
        sleep_us(PAUSE_US);
        round_of(process, path);
    }
    line_begins();
    print_number("rounds", rounds);
    print_number("bytes", bytes);
    line_ends();
    _exit(0);
}
