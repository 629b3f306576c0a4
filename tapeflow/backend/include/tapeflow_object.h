/* A native object on the modelled machine: each of its loads and stores, told by the compiler, is one of the model's.
 *
 *     clang -O2 -fsanitize-coverage=func,trace-loads,trace-stores -c f.c
 *
 * makes clang call __sanitizer_cov_load8 and its like before every access; they are defined here, and so are memset,
 * memcpy and memmove, which the compiler calls but does not instrument, and malloc and its like. Linked with
 * --wrap for each of the latter, and C++'s new and delete. Included once, by the generated program that calls the entry.
 *
 * Raw addresses differ from run to run, so what the model sees are virtual ones:
 *     arrays passed to the entry   as in our own code: in order, each on a line of its own, TF_ARRAY_SKEW_BYTES apart
 *     memory that it allocates     its distance from the start of a heap of our own, above TF_TAPE_SPACE: "tape"
 *     all else (stack, globals)    pages of 4 KiB in the order in which they are first touched
 *
 * There is no schedule: TF_OBJECT_PORTS accesses begin every TF_OBJECT_II cycles, and a loaded value is needed
 * TF_OBJECT_SLACK cycles after a hit would have brought it.
 */
#ifndef TAPEFLOW_OBJECT_H
#define TAPEFLOW_OBJECT_H

#define TF_MODEL
#define TF_MODEL_EXPORTS
#include "tapeflow_rt.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

/* Arrays lie below, pages of all else from here on. */
#define TF_PAGE_SPACE ((uint64_t)1 << 43)
#define TF_PAGE_BYTES 4096u
#define TF_OBJECT_LINE 1 /* the only "line" that is ever stepped to */

typedef struct {
    uintptr_t low, high;
    uint64_t base; /* virtual address of `low` */
} tf_range;

/* A page of the process and its number in the order of first touch; `page` is 0 where the table is empty. */
typedef struct {
    uintptr_t page;
    uint64_t number;
} tf_page;

/* Ahead of each block of the heap, on the line before it. */
typedef struct tf_heap_block {
    struct tf_heap_block *next; /* among the free ones of its size */
    unsigned char *start;       /* of what was cut for it */
    uint64_t bytes;             /* from `start` on */
    uint64_t asked;
} tf_heap_block;

#define TF_HEAP_CLASSES 512

/* Of each thread: the entry is running on it, and not the model; it is the one that calls the entry. */
static __thread bool tf_object_on, tf_object_calls;

static struct {
    tf_tape *tf;
    bool running; /* the entry is */
    uint32_t slot; /* of the ports of this cycle */

    tf_range arrays[TF_OBJECT_ARRAYS + 1];
    uint32_t array_count;

    unsigned char *heap; /* line-aligned; a line of it is the first block's header */
    uint64_t heap_room, heap_used;
    tf_heap_block *idle[TF_HEAP_CLASSES];

    tf_page *pages; /* open addressing, a power of two of places */
    uint64_t page_room, page_count;
    uintptr_t last_page;
    uint64_t last_base;
} tf_object;

static TF_COLD void tf_object_die(const char *why)
{
    (void)fprintf(stderr, "%s\n", why);
    exit(3);
}

/* ---- memory of the process ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *block);
int __real_posix_memalign(void **block, size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_memset(void *to, int byte, size_t bytes);
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memmove(void *to, const void *from, size_t bytes);

/* Addresses for as much as there may ever be; only what is touched becomes memory. */
static TF_COLD void tf_object_heap(void)
{
    for (uint64_t room = (uint64_t)1 << 38; room >= (uint64_t)1 << 24; room /= 4) {
        void *heap = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (heap == MAP_FAILED) continue;
        tf_object.heap = (unsigned char *)heap;
        tf_object.heap_room = room;
        return;
    }
    tf_object_die("no memory for a heap");
}

static TF_COLD void tf_object_page_grow(void)
{
    const tf_page *old = tf_object.pages;
    const uint64_t room = tf_object.page_room;
    tf_object.page_room = room > 0 ? 2 * room : 1024;
    tf_object.pages = (tf_page *)__real_calloc(tf_object.page_room, sizeof *tf_object.pages);
    if (tf_object.pages == NULL) tf_object_die("no memory for a table of pages");
    for (uint64_t k = 0; k < room; k++) {
        if (old[k].page == 0) continue;
        uint64_t place = old[k].page * UINT64_C(0x9E3779B97F4A7C15) >> 20 & (tf_object.page_room - 1);
        while (tf_object.pages[place].page != 0) place = (place + 1) & (tf_object.page_room - 1);
        tf_object.pages[place] = old[k];
    }
    __real_free((void *)old);
}

/* The virtual address of page `page` (its number in the process), which is given one if it has none. */
static TF_SLOW uint64_t tf_object_page(uintptr_t page)
{
    if (2 * tf_object.page_count >= tf_object.page_room) tf_object_page_grow();
    uint64_t place = page * UINT64_C(0x9E3779B97F4A7C15) >> 20 & (tf_object.page_room - 1);
    while (tf_object.pages[place].page != 0 && tf_object.pages[place].page != page)
        place = (place + 1) & (tf_object.page_room - 1);
    if (tf_object.pages[place].page == 0) {
        tf_object.pages[place].page = page;
        tf_object.pages[place].number = tf_object.page_count++;
    }
    return TF_PAGE_SPACE + tf_object.pages[place].number * TF_PAGE_BYTES;
}

static inline uint64_t tf_object_virtual(uintptr_t raw)
{
    for (uint32_t k = 0; k < tf_object.array_count; k++)
        if (raw - tf_object.arrays[k].low < tf_object.arrays[k].high - tf_object.arrays[k].low)
            return tf_object.arrays[k].base + (raw - tf_object.arrays[k].low);
    if (raw - (uintptr_t)tf_object.heap < tf_object.heap_room)
        return TF_TAPE_SPACE + (raw - (uintptr_t)tf_object.heap) - TF_LINE_BYTES;
    const uintptr_t page = raw / TF_PAGE_BYTES;
    if (page != tf_object.last_page) {
        tf_object.last_base = tf_object_page(page);
        tf_object.last_page = page;
    }
    return tf_object.last_base + raw % TF_PAGE_BYTES;
}

/* ---- accesses ---- */

extern const char __executable_start; /* where the linker puts the program; calls are told apart by their distance */

/* `words` accesses begin, as many a cycle as there are ports. */
static inline void tf_object_issue(struct tf_model *m, uint64_t words)
{
    for (; words > 0; words--) {
        if (tf_object.slot == 0) tf_m_step(m, TF_OBJECT_LINE, TF_OBJECT_II, TF_OBJECT_II);
        if (++tf_object.slot == TF_OBJECT_PORTS) tf_object.slot = 0;
    }
}

/* An access within a line. */
static inline void tf_object_in_line(uintptr_t raw, uint32_t bytes, bool write, uint32_t site)
{
    struct tf_model *m = tf_m(tf_object.tf);
    const uint64_t address = tf_object_virtual(raw);
    const uint64_t words = (bytes + TF_CACHE_PORT_BYTES - 1) / TF_CACHE_PORT_BYTES;
    tf_object_issue(m, words);
    if (tf_m_owner(address) == TF_OF_TAPE) {
        tf_m_tape_access(m, address, bytes, write, 0, TF_OBJECT_SLACK, site);
        return;
    }
    tf_m_array_access(m, address, write, 0, TF_OBJECT_SLACK, site);
    for (uint64_t word = 1; word < words; word++) {
        if (TF_CACHE_LEVELS == 0)
            tf_m_array_access(m, address + word * TF_CACHE_PORT_BYTES, write, 0, TF_OBJECT_SLACK, site);
        else if (write) m->count.array_writes++;
        else m->count.array_reads++;
    }
}

/* An access while the entry does not run on this thread: one of ours, or one that no machine of ours can make. */
static TF_SLOW void tf_object_elsewhere(void)
{
    if (tf_object.running && !tf_object_calls)
        tf_object_die("it runs in several threads, and the modelled machine is one datapath");
}

static inline void tf_object_access(const void *at, uint32_t bytes, bool write, const void *caller)
{
    if (!tf_object_on) {
        tf_object_elsewhere();
        return;
    }
    const uintptr_t raw = (uintptr_t)at;
    const uintptr_t place = (uintptr_t)caller - (uintptr_t)&__executable_start;
    const uint32_t site = (uint32_t)(place % (TF_LINE_COUNT - 2)) + 2;
    const uint32_t room = TF_LINE_BYTES - (uint32_t)(raw % TF_LINE_BYTES);
    tf_object_on = false; /* the model's own calls of memmove are not the object's */
    tf_object_in_line(raw, bytes < room ? bytes : room, write, site);
    if (bytes > room) tf_object_in_line(raw + room, bytes - room, write, site);
    tf_object_on = true;
}

#define TF_OBJECT_CALLBACK(bytes)                                                                                      \
    void __sanitizer_cov_load##bytes(const void *at);                                                                  \
    void __sanitizer_cov_store##bytes(const void *at);                                                                 \
    void __sanitizer_cov_load##bytes(const void *at)                                                                   \
    {                                                                                                                  \
        tf_object_access(at, bytes, false, __builtin_return_address(0));                                               \
    }                                                                                                                  \
    void __sanitizer_cov_store##bytes(const void *at)                                                                  \
    {                                                                                                                  \
        tf_object_access(at, bytes, true, __builtin_return_address(0));                                                \
    }

TF_OBJECT_CALLBACK(1)
TF_OBJECT_CALLBACK(2)
TF_OBJECT_CALLBACK(4)
TF_OBJECT_CALLBACK(8)
TF_OBJECT_CALLBACK(16)

/* What the coverage that comes with them calls. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc(void) {}
void __sanitizer_cov_trace_pc_guard(uint32_t *guard) { (void)guard; }
void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) { (void)start, (void)stop; }

/* `bytes` from `from` on, if it is not NULL, to `to`, if it is not NULL, in aligned words of the port. */
static TF_SLOW void tf_object_move(const unsigned char *to, const unsigned char *from, size_t bytes, const void *caller)
{
    size_t done = 0;
    if (!tf_object_on) {
        tf_object_elsewhere();
        return;
    }
    while (done < bytes) {
        const uintptr_t at = (uintptr_t)(to != NULL ? to : from) + done;
        size_t word = TF_CACHE_PORT_BYTES - at % TF_CACHE_PORT_BYTES;
        if (word > bytes - done) word = bytes - done;
        if (from != NULL) tf_object_access(from + done, (uint32_t)word, false, caller);
        if (to != NULL) tf_object_access(to + done, (uint32_t)word, true, (const unsigned char *)caller + 1);
        done += word;
    }
}

void *__wrap_memset(void *to, int byte, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memmove(void *to, const void *from, size_t bytes);

void *__wrap_memset(void *to, int byte, size_t bytes)
{
    tf_object_move((unsigned char *)to, NULL, bytes, __builtin_return_address(0));
    return __real_memset(to, byte, bytes);
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
    tf_object_move((unsigned char *)to, (const unsigned char *)from, bytes, __builtin_return_address(0));
    return __real_memcpy(to, from, bytes);
}

void *__wrap_memmove(void *to, const void *from, size_t bytes)
{
    tf_object_move((unsigned char *)to, (const unsigned char *)from, bytes, __builtin_return_address(0));
    return __real_memmove(to, from, bytes);
}

/* What they are where the compiler knows how much `room` there is (_FORTIFY_SOURCE). */
void *__wrap___memset_chk(void *to, int byte, size_t bytes, size_t room);
void *__wrap___memcpy_chk(void *to, const void *from, size_t bytes, size_t room);
void *__wrap___memmove_chk(void *to, const void *from, size_t bytes, size_t room);

static void tf_object_fits(size_t bytes, size_t room)
{
    if (bytes > room) tf_object_die("it writes past the end of an object");
}

void *__wrap___memset_chk(void *to, int byte, size_t bytes, size_t room)
{
    tf_object_fits(bytes, room);
    tf_object_move((unsigned char *)to, NULL, bytes, __builtin_return_address(0));
    return __real_memset(to, byte, bytes);
}

void *__wrap___memcpy_chk(void *to, const void *from, size_t bytes, size_t room)
{
    tf_object_fits(bytes, room);
    tf_object_move((unsigned char *)to, (const unsigned char *)from, bytes, __builtin_return_address(0));
    return __real_memcpy(to, from, bytes);
}

void *__wrap___memmove_chk(void *to, const void *from, size_t bytes, size_t room)
{
    tf_object_fits(bytes, room);
    tf_object_move((unsigned char *)to, (const unsigned char *)from, bytes, __builtin_return_address(0));
    return __real_memmove(to, from, bytes);
}

/* ---- allocation ---- */

/* Blocks are whole lines. Up to 32 lines each number has a class of its own, above there are eight to a power of two. */
static uint32_t tf_object_class(uint64_t *lines)
{
    if (*lines <= 32) return (uint32_t)*lines;
    uint32_t power = 0;
    while (*lines >> (power + 1) != 0) power++;
    const uint64_t eighth = ((uint64_t)1 << power) / 8;
    const uint64_t up = (*lines + eighth - 1) / eighth;
    *lines = up * eighth;
    return 32 + 8 * (power - 5) + (uint32_t)(up - 8);
}

static bool tf_object_owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)tf_object.heap < tf_object.heap_room;
}

static tf_heap_block *tf_object_header(void *block)
{
    return (tf_heap_block *)((unsigned char *)block - TF_LINE_BYTES);
}

static void *tf_object_allocate(size_t bytes, size_t alignment)
{
    if (bytes > tf_object.heap_room || alignment > tf_object.heap_room) return NULL;
    const uint64_t more = alignment > TF_LINE_BYTES ? alignment : 0;
    uint64_t lines = (bytes + more + TF_LINE_BYTES - 1) / TF_LINE_BYTES + 1;
    const uint32_t class = tf_object_class(&lines);
    tf_heap_block *block = more > 0 ? NULL : tf_object.idle[class];
    if (block != NULL) {
        tf_object.idle[class] = block->next;
        block->asked = bytes;
        return (unsigned char *)block + TF_LINE_BYTES;
    }
    if (lines * TF_LINE_BYTES > tf_object.heap_room - tf_object.heap_used) return NULL;
    unsigned char *start = tf_object.heap + tf_object.heap_used;
    unsigned char *at = start + TF_LINE_BYTES;
    tf_object.heap_used += lines * TF_LINE_BYTES;
    if (more > 0) at += (alignment - (uintptr_t)at % alignment) % alignment;
    block = tf_object_header(at);
    block->start = start;
    block->bytes = lines * TF_LINE_BYTES;
    block->asked = bytes;
    return at;
}

static void tf_object_give_back(void *at)
{
    const tf_heap_block was = *tf_object_header(at);
    tf_heap_block *block = (tf_heap_block *)was.start;
    uint64_t lines = was.bytes / TF_LINE_BYTES;
    const uint32_t class = tf_object_class(&lines);
    *block = was;
    block->next = tf_object.idle[class];
    tf_object.idle[class] = block;
}

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *block);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_memalign(size_t alignment, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    return tf_object_on ? tf_object_allocate(bytes, 1) : __real_malloc(bytes);
}

/* Zeroing is not charged: fresh pages are zero. */
void *__wrap_calloc(size_t count, size_t bytes)
{
    if (!tf_object_on) return __real_calloc(count, bytes);
    if (bytes != 0 && count > SIZE_MAX / bytes) return NULL;
    void *block = tf_object_allocate(count * bytes, 1);
    return block != NULL ? __real_memset(block, 0, count * bytes) : NULL;
}

/* A block that has to move is copied, which is charged. */
void *__wrap_realloc(void *old, size_t bytes)
{
    if (old == NULL) return __wrap_malloc(bytes);
    if (!tf_object_owns(old)) return __real_realloc(old, bytes);
    tf_heap_block *header = tf_object_header(old);
    const size_t room = (size_t)(header->start + header->bytes - (unsigned char *)old);
    const size_t kept = header->asked < bytes ? header->asked : bytes;
    if (bytes <= room) {
        header->asked = bytes;
        return old;
    }
    void *block = tf_object_allocate(bytes, 1);
    if (block == NULL) return NULL;
    tf_object_move((unsigned char *)block, (unsigned char *)old, kept, __builtin_return_address(0));
    __real_memcpy(block, old, kept);
    tf_object_give_back(old);
    return block;
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes)
{
    return bytes != 0 && count > SIZE_MAX / bytes ? NULL : __wrap_realloc(old, count * bytes);
}

void __wrap_free(void *block)
{
    if (block == NULL) return;
    if (tf_object_owns(block)) tf_object_give_back(block);
    else __real_free(block);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (!tf_object_on) return __real_posix_memalign(block, alignment, bytes);
    *block = tf_object_allocate(bytes, alignment);
    return *block != NULL ? 0 : ENOMEM;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return tf_object_on ? tf_object_allocate(bytes, alignment) : __real_aligned_alloc(alignment, bytes);
}

void *__wrap_memalign(size_t alignment, size_t bytes)
{
    return __wrap_aligned_alloc(alignment, bytes);
}

/* C++'s new and delete, by their names in the linker, alone, of arrays, with an alignment and without exceptions; weak,
 * as an object may have its own. */
#define TF_OBJECT_NEW(name, parameters, block)                                                                         \
    __attribute__((weak)) void *name parameters;                                                                       \
    void *name parameters                                                                                              \
    {                                                                                                                  \
        void *made = block;                                                                                            \
        if (made == NULL) tf_object_die("out of memory");                                                              \
        return made;                                                                                                   \
    }
#define TF_OBJECT_DELETE(name, parameters)                                                                             \
    __attribute__((weak)) void name parameters;                                                                        \
    void name parameters { __wrap_free(block); }

TF_OBJECT_NEW(_Znwm, (size_t bytes), __wrap_malloc(bytes))
TF_OBJECT_NEW(_Znam, (size_t bytes), __wrap_malloc(bytes))
TF_OBJECT_NEW(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *tag), ((void)tag, __wrap_malloc(bytes)))
TF_OBJECT_NEW(_ZnamRKSt9nothrow_t, (size_t bytes, const void *tag), ((void)tag, __wrap_malloc(bytes)))
TF_OBJECT_NEW(_ZnwmSt11align_val_t, (size_t bytes, size_t to), __wrap_memalign(to, bytes))
TF_OBJECT_NEW(_ZnamSt11align_val_t, (size_t bytes, size_t to), __wrap_memalign(to, bytes))
TF_OBJECT_DELETE(_ZdlPv, (void *block))
TF_OBJECT_DELETE(_ZdaPv, (void *block))
TF_OBJECT_DELETE(_ZdlPvm, (void *block, size_t bytes))
TF_OBJECT_DELETE(_ZdaPvm, (void *block, size_t bytes))
TF_OBJECT_DELETE(_ZdlPvRKSt9nothrow_t, (void *block, const void *tag))
TF_OBJECT_DELETE(_ZdaPvRKSt9nothrow_t, (void *block, const void *tag))
TF_OBJECT_DELETE(_ZdlPvSt11align_val_t, (void *block, size_t to))
TF_OBJECT_DELETE(_ZdaPvSt11align_val_t, (void *block, size_t to))
TF_OBJECT_DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t bytes, size_t to))
TF_OBJECT_DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t bytes, size_t to))

/* ---- a run: arguments in, entry, counters out ---- */

static TF_COLD void tf_object_read(FILE *in, void *to, size_t bytes)
{
    if (bytes > 0 && fread(to, 1, bytes, in) != bytes) tf_object_die("the file of arguments is too short");
}

static TF_COLD void tf_object_write(FILE *out, const void *from, size_t bytes)
{
    if (bytes > 0 && fwrite(from, 1, bytes, out) != bytes) tf_object_die("the results cannot be written");
}

/* The arrays as the entry left them. */
static TF_COLD void tf_object_write_arrays(FILE *out)
{
    for (uint32_t k = 0; k < tf_object.array_count; k++) {
        const tf_range *array = &tf_object.arrays[k];
        tf_object_write(out, (const void *)array->low, (size_t)(array->high - array->low));
    }
}

/* The next array, of `bytes`, from the file of arguments; it begins on a line. */
static TF_COLD void *tf_object_array(FILE *in, uint64_t bytes)
{
    void *array = NULL;
    if (__real_posix_memalign(&array, TF_LINE_BYTES, bytes > 0 ? (size_t)bytes : 1) != 0) tf_object_die("out of memory");
    tf_object_read(in, array, (size_t)bytes);
    const uint64_t base = tf_m_array(tf_m(tf_object.tf), (ptrdiff_t)(bytes > 0 ? bytes : 1), 1);
    const tf_range range = {(uintptr_t)array, (uintptr_t)array + bytes, base};
    tf_object.arrays[tf_object.array_count++] = range;
    return array;
}

static TF_COLD void tf_object_begin(void)
{
    tf_object.tf = tf_new();
    if (tf_object.tf == NULL || !tf_model_reset(tf_object.tf)) tf_object_die("no memory for the modelled machine");
    tf_object_heap();
}

/* Call `entry` with its stack frame at the same place of a page in every run. */
static TF_COLD void tf_object_call(void (*entry)(void))
{
    volatile char here = 0;
    volatile char *padding = (volatile char *)__builtin_alloca((uintptr_t)&here % TF_PAGE_BYTES + 1);
    padding[0] = here;
    tf_object.running = tf_object_calls = tf_object_on = true;
    entry();
    tf_object.running = tf_object_on = false;
    padding[0] = here;
}

static TF_COLD void tf_object_end(FILE *out)
{
    tf_model_finish(tf_object.tf);
    if (tf_object.tf->error != NULL) tf_object_die(tf_object.tf->error);
    tf_object_write(out, tf_counters(tf_object.tf), sizeof(tf_counter_set));
    tf_object_write(out, tf_executions(tf_object.tf) + TF_OBJECT_LINE, sizeof(uint64_t));
}

/* What was recorded beside the counters, of stack distances and then of the timeline: its length in bytes, 0 if it was
 * not recorded, and some numbers and a table. */
static TF_COLD void tf_object_write_recorded(FILE *out)
{
    const struct tf_model *m = tf_m(tf_object.tf);
    uint64_t bytes = 0;
    (void)m;
#if TF_REUSE
    const uint64_t sizes[] = {TF_REUSE_BINS, TF_REUSE_EXACT, m->reuse->halvings, m->reuse->cold[0], m->reuse->cold[1]};
    bytes = sizeof sizes + sizeof m->reuse->counts;
    tf_object_write(out, &bytes, sizeof bytes);
    tf_object_write(out, sizes, sizeof sizes);
    tf_object_write(out, m->reuse->counts, sizeof m->reuse->counts);
#else
    tf_object_write(out, &bytes, sizeof bytes);
#endif
    bytes = 0;
#if TF_TIMELINE
    const uint64_t numbers[] = {m->timeline->seen, m->timeline->stride};
    bytes = sizeof numbers + m->timeline->kept * sizeof(tf_event);
    tf_object_write(out, &bytes, sizeof bytes);
    tf_object_write(out, numbers, sizeof numbers);
    tf_object_write(out, m->timeline->events, m->timeline->kept * sizeof(tf_event));
#else
    tf_object_write(out, &bytes, sizeof bytes);
#endif
}

#endif
