// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// All threads of a process in one pass of the sleepable task iterator (kernel 5.18): scheduler
// state, user registers, kernel stack and the user stack's bytes. Nothing is stopped.
//
// A run of the program writes one record: `struct record` up to `kernel_stack`, then the kernel
// stack, then the user stack. src/snapshot/record.rs reads them; the two change together.
//
// The kernel throws a record away that does not fit in what is left of its 32 KiB (kernel/bpf/
// bpf_iter.c, `bpf_seq_read`) and runs the program again for the same thread, so that whatever
// the program remembers must bear being done twice.

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// A string that the kernel takes for GPL-compatible (include/linux/license.h).
char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define STACK_BYTES_MAX 31744
#define KERNEL_FRAMES_MAX 64
#define FUTEX_BYTES 64
// Copied above the thread pointer or the first frame: the thread control block's own address is in it.
#define TAIL_BYTES 64
#define PAGE_BYTES 4096
#define NAME_BYTES 16

// Of struct control, `flags`.
#define REUSE 1u
#define KERNEL_STACKS 2u
#define ONLY_WANTED 4u

// Of struct record, `flags`.
#define HAS_REGISTERS 1u
#define HAS_SYSCALL 2u
#define HAS_FUTEX 4u
#define HAS_FUTEX_WORDS 8u
#define STACK_WHOLE 16u
#define HAS_BP 32u
#define HAS_LR 64u
#define HAS_THREAD_POINTER 128u

// Of struct record, `outcome`.
enum outcome {
	STACK = 0,
	ON_PROCESSOR = 1,
	MOVED = 2,
	GONE = 3,
	UNREADABLE = 4,
	UNMOVED = 5,
	DEADLINE = 6,
};

// What is read of the kernel's own types. The loader finds the fields' places in the running kernel.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct uprobes_tp_value {
	unsigned long tp_value;
};

struct thread_struct {
	unsigned long fsbase;
};

struct thread_struct___arm64 {
	struct uprobes_tp_value uw;
};

struct mm_struct {
	unsigned long start_stack;
};

struct task_struct {
	unsigned int __state;
	int exit_state;
	int on_cpu;
	int tgid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	char comm[NAME_BYTES];
	struct thread_struct thread;
};

// Before 5.14.
struct task_struct___old {
	long state;
};

struct task_struct___arm64 {
	struct thread_struct___arm64 thread;
};

struct pt_regs___x86 {
	unsigned long bp;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};

struct pt_regs___arm64 {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 orig_x0;
	int syscallno;
};

struct seq_file {
	unsigned long size;
	unsigned long count;
};

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

// Written by user space before a pass, but for the last three fields.
struct control {
	__u64 generation;
	__u64 generation_first; // what was remembered before it is not valid
	__u64 deadline_ns;      // CLOCK_MONOTONIC
	__u64 leader_start_ns;  // another one means that the process id was given again; 0: any
	__u32 pid;
	__u32 flags;
	__u32 stack_bytes_max;
	__u32 threads_max;
	__u32 emitted;
	__u32 left_out;
	__u32 last_tid;
	__u32 futex_syscall;
};

struct record {
	__u32 tid;
	__u32 flags;
	__u32 outcome;
	__u32 state;
	__u32 exit_state;
	__u32 kernel_stack_bytes;
	__u32 stack_bytes;
	__u32 unused;
	__u64 switches;
	__u64 start_ns;
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u64 lr;
	__u64 thread_pointer;
	__s64 syscall;
	__u64 arguments[6];
	__u32 futex_words[FUTEX_BYTES / 4];
	char name[NAME_BYTES];
	__u64 kernel_stack[KERNEL_FRAMES_MAX];
	// Room for a page more, so that the verifier sees every page-wise copy end inside.
	__u8 stack[32768 + PAGE_BYTES];
};

#define HEADER_BYTES __builtin_offsetof(struct record, kernel_stack)

// When a thread's stack was last handed over, and where the thread was then.
struct given {
	__u64 switches;
	__u64 start_ns;
	__u64 generation;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

// One snapshotter has one reader, so one record is enough. Not per CPU: a sleepable program may be
// interrupted by another one's run on the same CPU.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record);
} scratch SEC(".maps");

// Sleepable programs may use preallocated maps only (before 6.1), which these are by default.
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct given);
} given SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32);
} wanted SEC(".maps");

// The compiler must neither forget a bound it was told to keep nor prove it away.
#define OPAQUE(value) asm volatile("" : "+r"(value))

static __always_inline __u64 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static __always_inline int on_processor(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) ? task->on_cpu : 0;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___old *)task)->state;
}

// The id of a task as the reader of this pass sees it; 0 when it does not.
static __always_inline __u32 id_for_reader(struct task_struct *task)
{
	struct task_struct *reader = bpf_get_current_task_btf();
	struct pid *mine = reader->thread_pid;
	struct pid *its = task->thread_pid;
	struct upid at_mine = {}, at_its = {};
	__u32 level;

	if (!mine || !its)
		return 0;
	level = mine->level;
	if (its->level < level)
		return 0;
	bpf_core_read(&at_mine, sizeof(at_mine), &mine->numbers[level]);
	bpf_core_read(&at_its, sizeof(at_its), &its->numbers[level]);
	return at_mine.ns == at_its.ns ? at_its.nr : 0;
}

static __always_inline void read_registers(struct task_struct *task, struct record *r)
{
	void *regs = (void *)bpf_task_pt_regs(task);
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm64 *arm64 = regs;
	struct task_struct___arm64 *arm64_task = (void *)task;

	if (bpf_core_field_exists(x86->ip)) {
		r->ip = x86->ip;
		r->sp = x86->sp;
		r->bp = x86->bp;
		r->syscall = x86->orig_ax;
		r->arguments[0] = x86->di;
		r->arguments[1] = x86->si;
		r->arguments[2] = x86->dx;
		r->arguments[3] = x86->r10;
		r->arguments[4] = x86->r8;
		r->arguments[5] = x86->r9;
		r->flags |= HAS_REGISTERS | HAS_BP;
	} else if (bpf_core_field_exists(arm64->syscallno)) {
		r->ip = arm64->pc;
		r->sp = arm64->sp;
		r->bp = arm64->regs[29];
		r->lr = arm64->regs[30];
		r->syscall = arm64->syscallno;
		r->arguments[0] = arm64->orig_x0;
		r->arguments[1] = arm64->regs[1];
		r->arguments[2] = arm64->regs[2];
		r->arguments[3] = arm64->regs[3];
		r->arguments[4] = arm64->regs[4];
		r->arguments[5] = arm64->regs[5];
		r->flags |= HAS_REGISTERS | HAS_BP | HAS_LR;
	}
	// Both kernels keep -1 there outside of system calls.
	if ((r->flags & HAS_REGISTERS) && r->syscall >= 0)
		r->flags |= HAS_SYSCALL;

	if (bpf_core_field_exists(task->thread.fsbase)) {
		r->thread_pointer = task->thread.fsbase;
		r->flags |= HAS_THREAD_POINTER;
	} else if (bpf_core_field_exists(arm64_task->thread.uw.tp_value)) {
		r->thread_pointer = arm64_task->thread.uw.tp_value;
		r->flags |= HAS_THREAD_POINTER;
	}
}

// FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI and LOCK_PI2 (include/uapi/linux/futex.h).
static __always_inline int waits(__u32 operation)
{
	__u32 command = operation & 127;

	return command == 0 || command == 6 || command == 9 || command == 11 || command == 13;
}

static __always_inline void read_futex(struct task_struct *task, struct control *c, struct record *r)
{
	if (!(r->flags & HAS_SYSCALL) || r->syscall != c->futex_syscall || !waits(r->arguments[1]))
		return;
	r->flags |= HAS_FUTEX;
	if (bpf_copy_from_user_task(r->futex_words, FUTEX_BYTES, (void *)r->arguments[0], task, 0) == 0)
		r->flags |= HAS_FUTEX_WORDS;
}

// How many bytes from the stack pointer upwards are worth copying.
static __always_inline __u64 stack_length(struct task_struct *task, struct control *c, struct record *r)
{
	struct mm_struct *mm = task->mm;
	__u64 limit = c->stack_bytes_max;
	__u64 end = 0;

	if (limit > STACK_BYTES_MAX)
		limit = STACK_BYTES_MAX;
	// The thread library puts the thread's control block, which the thread pointer points to, at
	// the upper end of the stack it makes. The first thread's frames end where the kernel put the
	// program's arguments.
	if (task == task->group_leader && mm) {
		end = mm->start_stack;
		// Else the two loads become one of a chosen pointer, which the verifier refuses.
		OPAQUE(end);
	} else if (r->flags & HAS_THREAD_POINTER) {
		end = r->thread_pointer;
	}
	if (end > r->sp && end - r->sp + TAIL_BYTES <= limit) {
		r->flags |= STACK_WHOLE;
		return end - r->sp + TAIL_BYTES;
	}
	return limit;
}

static __always_inline __u64 copy_stack(struct task_struct *task, struct record *r, __u64 length)
{
	__u64 done = 0;
	int i;

	OPAQUE(length);
	if (length > STACK_BYTES_MAX)
		return 0;
	if (bpf_copy_from_user_task(r->stack, length, (void *)r->sp, task, 0) == 0)
		return length;
	// All or nothing: at the end of a mapping only page by page gives what there is.
	for (i = 0; i < STACK_BYTES_MAX / PAGE_BYTES + 2; i++) {
		__u64 part = PAGE_BYTES - ((r->sp + done) & (PAGE_BYTES - 1));

		if (done >= length)
			break;
		if (part > length - done)
			part = length - done;
		OPAQUE(part);
		if (part > PAGE_BYTES)
			break;
		OPAQUE(done);
		if (done > STACK_BYTES_MAX)
			break;
		if (bpf_copy_from_user_task(r->stack + done, part, (void *)(r->sp + done), task, 0))
			break;
		done += part;
	}
	// Above what could be read there is no memory, so no frames either.
	if (done > 0)
		r->flags |= STACK_WHOLE;
	return done;
}

static __always_inline void emit(struct seq_file *seq, struct record *r)
{
	__u64 bytes = r->kernel_stack_bytes;

	bpf_seq_write(seq, r, HEADER_BYTES);
	OPAQUE(bytes);
	if (bytes > 0 && bytes <= sizeof(r->kernel_stack))
		bpf_seq_write(seq, r->kernel_stack, bytes);
	bytes = r->stack_bytes;
	OPAQUE(bytes);
	if (bytes > 0 && bytes <= STACK_BYTES_MAX)
		bpf_seq_write(seq, r->stack, bytes);
}

// Whether a thread that was neither seen on a processor nor switched out since is where it was
// when its stack was handed over. In this generation it was not: then this is a second run.
static __always_inline int unmoved(struct control *c, struct record *r)
{
	struct given *last = bpf_map_lookup_elem(&given, &r->tid);

	return last && last->switches == r->switches && last->start_ns == r->start_ns &&
	       last->generation != c->generation && last->generation >= c->generation_first;
}

static __always_inline void remember(struct control *c, struct record *r)
{
	struct given now = {
		.switches = r->switches,
		.start_ns = r->start_ns,
		.generation = c->generation,
	};

	bpf_map_update_elem(&given, &r->tid, &now, BPF_ANY);
}

SEC("iter.s/task")
int threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *leader;
	struct control *c;
	struct record *r;
	__u32 zero = 0, tid;
	__u64 length, left;
	long bytes;

	if (!task)
		return 0;
	c = bpf_map_lookup_elem(&control, &zero);
	r = bpf_map_lookup_elem(&scratch, &zero);
	if (!c || !r)
		return 0;

	// Kernels before 6.1 pass every task of the host.
	leader = task->group_leader;
	if (!leader || id_for_reader(leader) != c->pid)
		return 0;
	if (c->leader_start_ns && leader->start_time != c->leader_start_ns)
		return 0;
	tid = id_for_reader(task);
	if (!tid)
		return 0;
	if ((c->flags & ONLY_WANTED) && !bpf_map_lookup_elem(&wanted, &tid))
		return 0;
	if (tid != c->last_tid) {
		c->last_tid = tid;
		if (c->emitted >= c->threads_max) {
			c->left_out++;
			return 0;
		}
		c->emitted++;
	}

	__builtin_memset(r, 0, HEADER_BYTES);
	r->tid = tid;
	r->state = state_of(task);
	r->exit_state = task->exit_state;
	r->start_ns = task->start_time;
	r->outcome = ON_PROCESSOR;
	if (on_processor(task))
		goto out;
	r->switches = switches_of(task);
	r->outcome = GONE;
	if (r->exit_state || !task->mm)
		goto out;
	read_registers(task, r);
	r->outcome = DEADLINE;
	if (bpf_ktime_get_ns() >= c->deadline_ns)
		goto out;
	read_futex(task, c, r);

	if ((c->flags & REUSE) && unmoved(c, r)) {
		r->outcome = UNMOVED;
		goto out;
	}

	if (c->flags & KERNEL_STACKS) {
		bytes = bpf_get_task_stack(task, r->kernel_stack, sizeof(r->kernel_stack), 0);
		if (bytes > 0)
			r->kernel_stack_bytes = bytes;
	}
	length = stack_length(task, c, r);
	// When the record will not fit, copying the stack for it is in vain: overflow at once.
	left = seq->size - seq->count;
	if (seq->count && HEADER_BYTES + sizeof(r->kernel_stack) + length >= left) {
		bpf_seq_write(seq, r, sizeof(*r));
		return 0;
	}
	r->stack_bytes = copy_stack(task, r, length);
	r->outcome = r->stack_bytes ? STACK : UNREADABLE;

	// Bytes of a thread that ran meanwhile are of no one moment.
	if (on_processor(task) || switches_of(task) != r->switches) {
		r->outcome = MOVED;
		r->kernel_stack_bytes = 0;
		r->stack_bytes = 0;
	} else if (r->stack_bytes) {
		remember(c, r);
	}
out:
	if (r->outcome == ON_PROCESSOR)
		r->switches = switches_of(task);
	__builtin_memcpy(r->name, task->comm, NAME_BYTES);
	emit(seq, r);
	return 0;
}
