// Futex waits of one process, timed where its threads are switched out and in again, and waits for
// locks of the kernel, timed by its own two tracepoints. Read by crates/kernel/src/lock_waits.
//
// Nothing here is per CPU but waits that spin: a thread sleeps on one CPU and wakes on another.
// sched_switch runs with the run queue's lock held and interrupts off: no page fault, no allocation
// (every map is preallocated), no wakeup of the reader (BPF_RB_NO_WAKEUP).

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

typedef _Bool bool;
#define true 1
#define false 0

// ---- What is read of the kernel, found by name at load time (CO-RE).

struct pt_regs___x86 {
	unsigned long bp;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
} __attribute__((preserve_access_index));

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct rw_semaphore {
	int unused;
} __attribute__((preserve_access_index));

struct mm_struct {
	struct rw_semaphore mmap_lock;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int __state;
	int on_cpu;
	int pid;
	int tgid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct mm_struct *mm;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct task_struct *task;
} __attribute__((preserve_access_index));

// include/linux/sched.h
#define TASK_INTERRUPTIBLE 0x0001
#define TASK_DEAD 0x0080
#define TASK_WAKING 0x0200

// arch/x86/entry/syscalls/syscall_64.tbl
#define NR_FUTEX 202
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT 455

// include/uapi/linux/futex.h
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_LOCK_PI2 13
#define FUTEX_FLAGS 0x180 /* FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME */

// include/trace/events/lock.h
#define LCB_F_SPIN 1
#define LCB_F_MUTEX 32

// ---- Shared with the reader; see wire.rs.

#define WINDOW_NS 100000000ULL
#define THREADS_MAX 16384
#define ADDRESSES_MAX 4096
#define KERNEL_PATHS_MAX 4096
#define KERNEL_STACKS_MAX 8192
#define KERNEL_DEPTH 16
#define SPIN_DEPTH 10
// Walking the kernel's stack took 0.3 us a frame: far more than all else here.
#define KERNEL_STACKS_PER_WINDOW 400
#define SPIN_STACKS_PER_WINDOW 100
#define BUCKETS 24
#define BUCKET_SHIFT 10
#define STACK_STEP 512
#define STACK_STEPS_MAX 32
#define SAMPLES_FIRST 4
#define MMAP_LOCK 0x80000000U

#define EVENT_SAMPLE 1
#define EVENT_ENDED 2

// Set by the reader before loading; the verifier treats them as constants.
volatile const __u32 target = 0;
volatile const __u32 stack_bytes = 4096;
volatile const __u64 waits_per_window = 0;
volatile const __u64 samples_per_window = 0;

// What happened in the 100 ms numbered `index`.
struct window {
	__u64 index;
	__u64 events;
	__u64 samples;
	__u64 spin_samples;
};

struct state {
	// Read at every switch, written once: on a cache line of its own.
	__u64 off_at;
	__u64 kernel_off_at;
	__u64 target_mm;
	__u64 pad[5];
	__u64 lost_samples;
	__u64 untracked;
	__u64 kernel_untracked;
	__u64 unused;
	struct window futex[4];
	struct window kernel[4];
};

struct state state __attribute__((aligned(64))) = {};

// One thread's wait. `since` is 0 between two waits. Only the thread's own switches touch it, and
// the scheduler orders those, so it needs no lock.
struct wait {
	__u64 since;
	__u64 address;
	__u64 switches;
	__u32 operation;
	__u32 sampled;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, __u32);
	__type(value, struct wait);
} threads SEC(".maps");

// The waits of one futex address.
struct row {
	__u64 operation;
	__u64 waits;
	__u64 total_ns;
	__u64 max_ns;
	__s64 waiting;
	__s64 waiting_max;
	__u64 sampled;
	__u32 histogram[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ADDRESSES_MAX);
	__type(key, __u64);
	__type(value, struct row);
} addresses SEC(".maps");

// The row of the addresses that found no room.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct row);
} overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

// A wait's beginning with its caller. `since` joins it with its end.
struct sample {
	__u32 kind;
	__u32 tid;
	__u64 since;
	__u64 address;
	__u32 operation;
	__u32 one_in;
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u64 thread_pointer;
	__u64 stack_length;
	__u8 stack[];
};

struct ended {
	__u32 kind;
	__u32 tid;
	__u64 since;
	__u64 waited;
};

// A wait for a lock of the kernel; `since` 0: none.
struct kernel_wait {
	__u64 since;
	__u64 lock;
	__s32 stack;
	__u32 flags;
	__u64 ours;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, __u32);
	__type(value, struct kernel_wait);
} kernel_waits SEC(".maps");

// A spinning CPU does not migrate, may be any thread's or an interrupt's, and takes its locks also
// inside the scheduler, where `current` changes: keyed by thread, a wait would end under another
// key and the next one would look as long as the time between.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_wait);
} kernel_spins SEC(".maps");

struct kernel_path {
	__s32 stack;
	__u32 flags;
};

struct kernel_row {
	__u64 waits;
	__u64 total_ns;
	__u64 max_ns;
	__u64 server_waits;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KERNEL_PATHS_MAX);
	__type(key, struct kernel_path);
	__type(value, struct kernel_row);
} kernel_paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_row);
} kernel_overflow SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, KERNEL_STACKS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, KERNEL_DEPTH * sizeof(__u64));
} kernel_stacks SEC(".maps");

// Their numbers in a path are those above KERNEL_STACKS_MAX.
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, KERNEL_STACKS_MAX);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SPIN_DEPTH * sizeof(__u64));
} spin_stacks SEC(".maps");

static const struct row no_row = {};
static const struct kernel_row no_kernel_row = {};

// The current 100 ms. Two CPUs may both find it new and clear it: a few events are then not
// counted for the limits, which need no more than that.
static __always_inline struct window *this_window(struct window *ring, __u64 now)
{
	__u64 index = now / WINDOW_NS;
	struct window *w = &ring[index & 3];

	if (w->index != index) {
		w->events = 0;
		w->samples = 0;
		w->spin_samples = 0;
		w->index = index;
	}
	return w;
}

// A maximum without compare-and-swap (BPF has it from 5.12 on, with a newer instruction set than
// this object needs): looking again closes all but a window of nanoseconds, in which the smaller
// of two new maxima may stay.
static __always_inline void raise(__u64 *max, __u64 value)
{
	if (value > *(volatile __u64 *)max)
		*(volatile __u64 *)max = value;
	if (value > *(volatile __u64 *)max)
		*(volatile __u64 *)max = value;
}

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u64 v = ns >> BUCKET_SHIFT;
	__u32 log = 0;

	if (v >> 32) { v >>= 32; log += 32; }
	if (v >> 16) { v >>= 16; log += 16; }
	if (v >> 8) { v >>= 8; log += 8; }
	if (v >> 4) { v >>= 4; log += 4; }
	if (v >> 2) { v >>= 2; log += 2; }
	if (v >> 1) { log += 1; }
	return log < BUCKETS ? log : BUCKETS - 1;
}

static __always_inline struct row *row_of(__u64 address, bool create)
{
	struct row *row = bpf_map_lookup_elem(&addresses, &address);
	__u32 zero = 0;

	if (row)
		return row;
	if (create) {
		bpf_map_update_elem(&addresses, &address, &no_row, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&addresses, &address);
		if (row)
			return row;
	}
	return bpf_map_lookup_elem(&overflow, &zero);
}

// Switches of a task so far: constant while it sleeps, and no longer once it ran.
static __always_inline __u64 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

struct futex {
	__u64 address;
	__u32 operation;
};

// The futex that the task's system call waits on. Only a task inside the kernel has these
// registers: the caller knows that it sleeps.
static __always_inline bool futex_of(struct pt_regs___x86 *regs, bool own, struct futex *out)
{
	__u64 number = regs->orig_ax;
	__u64 argument = regs->di;

	// Keeps the compiler from merging the load with one from the stack below: the verifier takes
	// one instruction for one kind of pointer.
	barrier_var(argument);
	if (number == NR_FUTEX) {
		__u32 operation = regs->si;
		__u32 command = operation & ~FUTEX_FLAGS;

		if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET &&
		    command != FUTEX_LOCK_PI && command != FUTEX_LOCK_PI2 &&
		    command != FUTEX_WAIT_REQUEUE_PI)
			return false;
		out->address = argument;
		out->operation = operation;
		return true;
	}
	if (number == NR_FUTEX_WAIT) {
		out->address = argument;
		out->operation = NR_FUTEX_WAIT << 16;
		return true;
	}
	if (number == NR_FUTEX_WAITV) {
		// The first of up to 128: struct futex_waitv keeps it behind 8 bytes. Without the task's
		// own address space (the iterator) it is the vector's address.
		__u64 first = 0;

		if (!own || bpf_probe_read_user(&first, sizeof(first), (void *)(argument + 8)))
			first = argument;
		out->address = first;
		out->operation = NR_FUTEX_WAITV << 16;
		return true;
	}
	return false;
}

// Copies the stack upwards from `sp` as far as it is mapped and present.
static __always_inline __u64 copy_stack(__u8 *to, __u64 sp)
{
	__u64 copied = 0;

	if (!bpf_probe_read_user(to, stack_bytes, (void *)sp))
		return stack_bytes;
#pragma unroll
	for (int i = 0; i < STACK_STEPS_MAX; i++) {
		if ((__u32)(i + 1) * STACK_STEP > stack_bytes)
			break;
		if (bpf_probe_read_user(to + i * STACK_STEP, STACK_STEP,
					(void *)(sp + i * STACK_STEP)))
			break;
		copied = (i + 1) * STACK_STEP;
	}
	return copied;
}

// Runs in the sleeping thread's own context: its memory is at hand.
static __always_inline bool submit_sample(struct task_struct *task, struct pt_regs___x86 *regs,
					  struct wait *wait, __u32 one_in)
{
	struct sample *s = bpf_ringbuf_reserve(&events, sizeof(*s) + stack_bytes, 0);

	if (!s) {
		__sync_fetch_and_add(&state.lost_samples, 1);
		return false;
	}
	s->kind = EVENT_SAMPLE;
	s->tid = task->pid;
	s->since = wait->since;
	s->address = wait->address;
	s->operation = wait->operation;
	s->one_in = one_in;
	s->ip = regs->ip;
	s->sp = regs->sp;
	s->bp = regs->bp;
	s->thread_pointer = task->thread.fsbase;
	s->stack_length = copy_stack(s->stack, regs->sp);
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return true;
}

// Whether this wait carries its stack, and for how many it stands; 0: no.
// The first waits of each address do, so that a rare lock is not lost among the waits of a hot one;
// of the others as many, at random, as the rate of the 100 ms before allows.
static __always_inline __u32 sampled_one_in(struct window *window, struct row *row)
{
	struct window *before = &state.futex[(window->index - 1) & 3];
	__u64 one_in = 1;

	if (window->samples >= samples_per_window)
		return 0;
	if (row->sampled < SAMPLES_FIRST) {
		one_in = 1;
	} else {
		if (before->index + 1 == window->index && samples_per_window)
			one_in = before->events / samples_per_window + 1;
		if (one_in > 1 && bpf_get_prandom_u32() % (__u32)one_in)
			return 0;
	}
	__sync_fetch_and_add(&window->samples, 1);
	__sync_fetch_and_add(&row->sampled, 1);
	return one_in;
}

static __always_inline void end_wait(struct wait *wait, struct task_struct *task, __u64 now)
{
	__u64 since = wait->since;
	struct row *row;
	__u64 waited;
	bool stale = wait->switches != switches_of(task);

	wait->since = 0;
	row = row_of(wait->address, false);
	if (!row)
		return;
	__sync_fetch_and_add(&row->waiting, -1);
	// It ran in between without our seeing it: there is no telling how long it waited.
	if (stale)
		return;
	waited = now > since ? now - since : 0;
	__sync_fetch_and_add(&row->waits, 1);
	__sync_fetch_and_add(&row->total_ns, waited);
	raise(&row->max_ns, waited);
	__sync_fetch_and_add(&row->histogram[bucket_of(waited)], 1);

	if (wait->sampled) {
		struct ended *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

		if (!e) {
			__sync_fetch_and_add(&state.lost_samples, 1);
			return;
		}
		e->kind = EVENT_ENDED;
		e->tid = task->pid;
		e->since = since;
		e->waited = waited;
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	}
}

static __always_inline void switched_in(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct wait *wait = bpf_map_lookup_elem(&threads, &tid);

	if (wait && wait->since)
		end_wait(wait, task, bpf_ktime_get_ns());
}

static __always_inline void switched_out(struct task_struct *task, bool preempted)
{
	// A waker may have begun already: deactivated tasks are TASK_WAKING until this switch is over
	// (try_to_wake_up in kernel/sched/core.c). That is why this need not be the fourth argument,
	// which kernels before 5.18 do not have. Waits for memory or a lock of the kernel inside the
	// call are uninterruptible: those are not the futex's.
	unsigned int task_state = task->__state;
	struct pt_regs___x86 *regs;
	struct window *window;
	struct futex futex = {};
	struct wait *wait;
	struct row *row;
	__u32 tid = task->pid;
	__u32 one_in;
	__u64 now;

	if (task_state & TASK_DEAD) {
		bpf_map_delete_elem(&threads, &tid);
		return;
	}
	if (preempted || !(task_state & (TASK_INTERRUPTIBLE | TASK_WAKING)))
		return;
	regs = (struct pt_regs___x86 *)bpf_task_pt_regs(task);
	if (!futex_of(regs, true, &futex))
		return;

	now = bpf_ktime_get_ns();
	window = this_window(state.futex, now);
	__sync_fetch_and_add(&window->events, 1);
	if (window->events > waits_per_window) {
		state.off_at = now;
		return;
	}

	wait = bpf_map_lookup_elem(&threads, &tid);
	if (!wait) {
		struct wait fresh = {};

		bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
		wait = bpf_map_lookup_elem(&threads, &tid);
		if (!wait) {
			__sync_fetch_and_add(&state.untracked, 1);
			return;
		}
	}
	if (wait->since) {
		row = row_of(wait->address, false);
		if (row)
			__sync_fetch_and_add(&row->waiting, -1);
	}
	row = row_of(futex.address, true);
	if (!row)
		return;
	wait->address = futex.address;
	wait->operation = futex.operation;
	wait->switches = switches_of(task);
	wait->sampled = 0;
	wait->since = now;
	row->operation = futex.operation;
	__sync_fetch_and_add(&row->waiting, 1);
	raise((__u64 *)&row->waiting_max, row->waiting);

	one_in = sampled_one_in(window, row);
	if (one_in && submit_sample(task, regs, wait, one_in))
		wait->sampled = 1;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
	if (state.off_at)
		return 0;
	// The one that comes first: it had left the lock's queue when it was woken.
	if ((__u32)next->tgid == target)
		switched_in(next);
	if ((__u32)prev->tgid == target)
		switched_out(prev, preempted);
	return 0;
}

// Threads that slept in a futex call before the first switch was seen: their waits begin with the
// window. Runs after the attachment of on_switch.
SEC("iter/task")
int before(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct pt_regs___x86 *regs;
	struct wait wait = {};
	struct futex futex = {};
	struct wait *kept;
	struct row *row;
	__u32 tid;

	if (!task || (__u32)task->tgid != target)
		return 0;
	state.target_mm = (__u64)task->mm;
	if (!(task->__state & TASK_INTERRUPTIBLE) || task->on_cpu)
		return 0;
	wait.switches = switches_of(task);
	regs = (struct pt_regs___x86 *)bpf_task_pt_regs(task);
	if (!futex_of(regs, false, &futex))
		return 0;
	tid = task->pid;
	wait.since = bpf_ktime_get_ns();
	wait.address = futex.address;
	wait.operation = futex.operation;
	row = row_of(futex.address, true);
	if (!row || bpf_map_update_elem(&threads, &tid, &wait, BPF_NOEXIST))
		return 0;
	row->operation = futex.operation;
	__sync_fetch_and_add(&row->waiting, 1);
	raise((__u64 *)&row->waiting_max, row->waiting);
	// Had it been switched in before it was noted, its switch found nothing to end.
	if (task->on_cpu || switches_of(task) != wait.switches) {
		kept = bpf_map_lookup_elem(&threads, &tid);
		if (kept && kept->since == wait.since) {
			kept->since = 0;
			__sync_fetch_and_add(&row->waiting, -1);
		}
	}
	return 0;
}

// A spinning wait that cannot sleep. A mutex spins with LCB_F_MUTEX and may be preempted.
static __always_inline bool spins(__u32 flags)
{
	return (flags & (LCB_F_SPIN | LCB_F_MUTEX)) == LCB_F_SPIN;
}

static __always_inline bool is_mmap_lock(__u64 lock)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 offset = bpf_core_field_offset(struct mm_struct, mmap_lock);
	__u64 own = (__u64)task->mm;

	return (own && lock == own + offset) ||
	       (state.target_mm && lock == state.target_mm + offset);
}

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct kernel_wait wait = {};
	struct kernel_wait *kept;
	struct window *window;
	__u64 id = bpf_get_current_pid_tgid();
	__u32 tid = id;
	__u32 zero = 0;

	if (state.kernel_off_at)
		return 0;
	wait.since = bpf_ktime_get_ns();
	window = this_window(state.kernel, wait.since);
	__sync_fetch_and_add(&window->events, 1);
	if (window->events > waits_per_window) {
		state.kernel_off_at = wait.since;
		return 0;
	}

	wait.lock = (__u64)lock;
	wait.flags = flags;
	wait.ours = (id >> 32) == target;
	if (spins(flags)) {
		// One there already is one whose end was not seen, or one that an interrupt's wait
		// interrupts. It is given up: kept, the former would stop this CPU's counting.
		kept = bpf_map_lookup_elem(&kernel_spins, &zero);
		if (!kept)
			return 0;
		wait.stack = -1;
		if (window->spin_samples < SPIN_STACKS_PER_WINDOW) {
			__sync_fetch_and_add(&window->spin_samples, 1);
			wait.stack = bpf_get_stackid(ctx, &spin_stacks, BPF_F_FAST_STACK_CMP);
			if (wait.stack >= 0)
				wait.stack += KERNEL_STACKS_MAX;
		}
		*kept = wait;
		return 0;
	}
	// A mutex begins twice, spinning and then sleeping: one wait.
	kept = bpf_map_lookup_elem(&kernel_waits, &tid);
	if (kept && kept->lock == wait.lock && (flags & LCB_F_MUTEX) &&
	    (kept->flags & LCB_F_SPIN))
		return 0;
	if (is_mmap_lock(wait.lock))
		wait.flags |= MMAP_LOCK;
	wait.stack = -1;
	if (window->samples < KERNEL_STACKS_PER_WINDOW) {
		__sync_fetch_and_add(&window->samples, 1);
		wait.stack = bpf_get_stackid(ctx, &kernel_stacks, BPF_F_FAST_STACK_CMP);
	}
	if (bpf_map_update_elem(&kernel_waits, &tid, &wait, BPF_ANY))
		__sync_fetch_and_add(&state.kernel_untracked, 1);
	return 0;
}

static __always_inline void end_kernel_wait(struct kernel_wait *wait, __u64 now)
{
	struct kernel_path path = {};
	struct kernel_row *row;
	__u64 waited = now > wait->since ? now - wait->since : 0;
	__u32 zero = 0;

	path.stack = wait->stack;
	path.flags = wait->flags;
	row = bpf_map_lookup_elem(&kernel_paths, &path);
	if (!row) {
		bpf_map_update_elem(&kernel_paths, &path, &no_kernel_row, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&kernel_paths, &path);
		if (!row)
			row = bpf_map_lookup_elem(&kernel_overflow, &zero);
		if (!row)
			return;
	}
	__sync_fetch_and_add(&row->waits, 1);
	__sync_fetch_and_add(&row->total_ns, waited);
	__sync_fetch_and_add(&row->server_waits, wait->ours);
	raise(&row->max_ns, waited);
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock, int ret)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 tid = bpf_get_current_pid_tgid();
	struct kernel_wait *wait;
	__u32 zero = 0;

	if (state.kernel_off_at)
		return 0;
	wait = bpf_map_lookup_elem(&kernel_spins, &zero);
	if (wait && wait->since && wait->lock == (__u64)lock) {
		end_kernel_wait(wait, now);
		wait->since = 0;
		return 0;
	}
	wait = bpf_map_lookup_elem(&kernel_waits, &tid);
	if (!wait || wait->lock != (__u64)lock)
		return 0;
	end_kernel_wait(wait, now);
	bpf_map_delete_elem(&kernel_waits, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
