/* fragmenter KEEP_MIB HOLES_MIB: keeps the memory of the machine in small pieces. It takes twice
   HOLES_MIB in blocks of 2 MiB, splits them into pages of 4 KiB and gives every second one back; the
   whole blocks that are free beyond that it keeps. Then it goes on: blocks that come free, or that
   the kernel makes by compaction for others, are taken apart within milliseconds, and what was taken
   first is given back for them. MemAvailable does not go below KEEP_MIB by its doing, nor, once it
   says that it is ready, MemFree below two thirds of HOLES_MIB. All of it is anonymous memory, which
   is free again when it ends, however that is. */
#include "victim.h"
#include <sched.h>
#include <sys/mman.h>
#include <sys/uio.h>


#define PAGE 4096UL
#define BLOCK (2UL << 20)
#define PAGES (BLOCK / PAGE)
#define SLOTS_MAX (1UL << 18)
/* Order 9 is 2 MiB with pages of 4 KiB. */
#define ORDER 9
#define PAUSE_US 1000

static char *region;
static size_t slots;
static int self;
static unsigned long long taken, given_back, no_split;

static size_t read_file(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = file < 0 ? -1 : read(file, text, size - 1);
    if (bytes < 0)
        fail(path);
    close(file);
    text[bytes] = 0;
    return (size_t)bytes;
}

static long memory_mib(const char *name) {
    char text[2048];
    read_file("/proc/meminfo", text, sizeof text);
    char *line = strstr(text, name);
    return line == NULL ? 0 : strtol(line + strlen(name), NULL, 10) >> 10;
}

static long available_mib(void) {
    return memory_mib("MemAvailable:");
}

/* Free blocks of 2 MiB and larger, counted in blocks of 2 MiB. */
static long large_blocks(void) {
    char text[8192];
    long sum = 0;
    read_file("/proc/buddyinfo", text, sizeof text);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *number = strstr(line, "zone");
        /* The first 16 MiB are nobody's but old devices'. */
        if (number == NULL || strstr(line, " DMA ") != NULL)
            continue;
        number += 4;
        while (*number == ' ')
            number++;
        while (*number != ' ' && *number != 0)
            number++;
        for (int order = 0; *number != 0 && order < 32; order++) {
            char *end;
            long count = strtol(number, &end, 10);
            if (end == number)
                break;
            number = end;
            if (order >= ORDER)
                sum += count << (order - ORDER);
        }
    }
    return sum;
}

/* Free blocks that are not for us: the kernel keeps some for allocations that must not fail (MIGRATE_HIGHATOMIC in
   mm/page_alloc.c), and buddyinfo counts them. What we take while as many stay was made for us by compaction, and who
   goes on like that compacts all the time. */
static long not_for_us;
#define SAME_MAX 4
/* So many rounds later it is tried again. */
#define ROUNDS_MAX 2000

static void learn(long before, long after) {
    static int same;
    same = after == before ? same + 1 : 0;
    if (same >= SAME_MAX) {
        not_for_us = after;
        same = 0;
    }
}

/* What can be had without compaction. */
static long blocks_for_us(void) {
    static int rounds;
    long blocks = large_blocks();
    if (blocks < not_for_us || ++rounds >= ROUNDS_MAX) {
        not_for_us = 0;
        rounds = 0;
    }
    return blocks - not_for_us;
}

/* Every second page of a block goes back at once. */
static void give_every_second_back(char *block) {
    static struct iovec pages[PAGES / 2];
    /* On a part of a huge page this splits it (mm/huge_memory.c, madvise_free_huge_pmd); without
       the split nothing of it would be free before the kernel wants memory. */
    if (madvise(block, PAGE, MADV_FREE) != 0)
        no_split++;
    for (size_t n = 0; n < PAGES / 2; n++)
        pages[n] = (struct iovec){.iov_base = block + 2 * n * PAGE, .iov_len = PAGE};
    if (syscall(SYS_process_madvise, self, pages, PAGES / 2, MADV_DONTNEED, 0) >= 0)
        return;
    for (size_t n = 0; n < PAGES / 2; n++)
        madvise(pages[n].iov_base, PAGE, MADV_DONTNEED);
}

static bool huge_pages_are_off(void) {
    char text[128];
    read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
    return strstr(text, "[never]") != NULL;
}

/* What may still be taken. */
static long room_mib(long keep, long holes) {
    long available = available_mib() - keep;
    long unused = memory_mib("MemFree:") - holes * 2 / 3;
    return holes > 0 && unused < available ? unused : available;
}

static char *slot(size_t n) {
    return region + n % slots * BLOCK;
}

int main(int argc, char **argv) {
    victim_begins("fragmenter");
    long keep = argument(argc, argv, 1, 7168, 4096, 1L << 30);
    long holes = argument(argc, argv, 2, 6144, 1, 1L << 30);
    long pages = sysconf(_SC_PHYS_PAGES);
    slots = (size_t)pages / PAGES * 2;
    if (slots < 16 || slots > SLOTS_MAX)
        fail("a machine of another size than it is made for");
    char *memory = mmap(NULL, (slots + 1) * BLOCK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        fail("no room for its addresses");
    region = (char *)(((uintptr_t)memory + BLOCK - 1) & ~(BLOCK - 1));
    if (madvise(region, slots * BLOCK, MADV_HUGEPAGE) != 0)
        fail("this kernel has no transparent huge pages");
    /* Ahead of the many that want the processors: a block is taken apart before the next one asks for it.
       Where that is not permitted it is later. */
    struct sched_param first_in_line = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &first_in_line);
    self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    start_thread(listen_for_the_end, NULL);

    /* Slots first..next are in use. */
    size_t first = 0, next = 0;
    bool told = false;
    while (!atomic_load(&over)) {
        /* The remedy: nobody gets huge pages any more, and we cannot take whole blocks. */
        if (told && huge_pages_are_off()) {
            sleep_us(100000);
            continue;
        }
        long free_blocks = told ? blocks_for_us() : next >= (size_t)holes ? large_blocks() : holes - (long)next;
        long room = room_mib(keep, told ? holes : 0);
        for (; free_blocks > 0 && !atomic_load(&over); free_blocks--) {
            if (next - first >= slots - 1 || room <= 0) {
                if (!told || next == first)
                    break;
                /* The oldest first: half a block of pages, wherever compaction has moved them. */
                madvise(slot(first++), BLOCK, MADV_DONTNEED);
                given_back++;
                room++;
            }
            long before = told ? large_blocks() : 0;
            char *block = slot(next++);
            /* Where the kernel gives a small page after all, all of them are touched. */
            for (size_t n = 0; n < PAGES; n++)
                *(volatile char *)(block + n * PAGE) = 1;
            taken++;
            room -= 2;
            if (told) {
                learn(before, large_blocks());
                give_every_second_back(block);
            }
            /* Only now: until then others' caches made room for them. */
            for (size_t n = 0; taken == (unsigned long long)holes && n < next; n++)
                give_every_second_back(slot(n));
            if (taken % 64 == 0)
                room = room_mib(keep, told ? holes : 0);
        }
        /* Others want memory. */
        while (told && room_mib(keep, holes) < -256 && next > first) {
            madvise(slot(first++), BLOCK, MADV_DONTNEED);
            given_back++;
        }
        if (!told && (large_blocks() < 16 || room_mib(keep, 0) <= 0)) {
            told = true;
            line_begins();
            print_number("taken", taken);
            print_number("no_split", no_split);
            print_number("large_blocks", (unsigned long long)large_blocks());
            print_number("available_mib", (unsigned long long)available_mib());
            print_number("free_mib", (unsigned long long)memory_mib("MemFree:"));
            line_ends();
        }
        sleep_us(told ? PAUSE_US : 0);
    }
    line_begins();
    print_number("taken", taken);
    print_number("given_back", given_back);
    print_number("large_blocks", (unsigned long long)large_blocks());
    print_number("available_mib", (unsigned long long)available_mib());
    line_ends();
    _exit(0);
}
