/*
 * A function for SQL that allocates and frees for each row, as engines did whose code makes its
 * objects with C++'s new: freezeframe_churn(seed, allocations) returns the number of bytes that it
 * had. At most 16 blocks of 16 to 512 bytes are held at a time.
 *
 * The structures are those of MySQL 5.5's include/mysql_com.h; later servers only add to their end.
 * operator new and delete are libstdc++'s, which every server has loaded.
 */
#include <stddef.h>
#include <string.h>

typedef struct {
    unsigned int arg_count;
    int *arg_type;
    char **args;
} UDF_ARGS;

typedef struct {
    char maybe_null;
} UDF_INIT;

#define INT_RESULT 2
#define HELD 16
#define ALLOCATIONS_MAX 100000

void *operator_new(size_t size) __asm__("_Znwm");
void operator_delete(void *block) __asm__("_ZdlPv");

char freezeframe_churn_init(UDF_INIT *init, UDF_ARGS *args, char *message)
{
    (void)init;
    if (args->arg_count != 2) {
        strcpy(message, "freezeframe_churn(seed, allocations)");
        return 1;
    }
    args->arg_type[0] = INT_RESULT;
    args->arg_type[1] = INT_RESULT;
    return 0;
}

void freezeframe_churn_deinit(UDF_INIT *init)
{
    (void)init;
}

long long freezeframe_churn(UDF_INIT *init, UDF_ARGS *args, char *is_null, char *error)
{
    (void)init;
    (void)is_null;
    (void)error;
    void *held[HELD] = {0};
    long long bytes = 0;
    if (!args->args[0] || !args->args[1])
        return 0;
    unsigned long long seed = (unsigned long long)*(long long *)args->args[0];
    long long count = *(long long *)args->args[1];
    if (count > ALLOCATIONS_MAX)
        count = ALLOCATIONS_MAX;
    for (long long n = 0; n < count; n++) {
        /* Knuth's MMIX generator. */
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        size_t size = 16 + (seed >> 33) % 497;
        unsigned slot = (unsigned)(seed >> 60);
        if (held[slot])
            operator_delete(held[slot]);
        held[slot] = operator_new(size);
        *(volatile char *)held[slot] = (char)n;
        bytes += (long long)size;
    }
    for (unsigned slot = 0; slot < HELD; slot++)
        if (held[slot])
            operator_delete(held[slot]);
    return bytes;
}
