// victim: a timer sends signals as fast as they can be handled, and their handler allocates on a separate stack or on the interrupted one; flags: -pthread -ldl
//
// Arguments: how many signals; where the handler's stack is (below, within, above, none); and "jump" if every tenth handler is
// to leave by siglongjmp. It prints how often it has called the allocator: new blocks, reallocations, blocks freed. A handler
// that jumps may leave one call undone, or uncounted.
//
// A handler may not call an allocator that it has interrupted. So it looks at what it has interrupted, and does nothing if
// code of the allocator or of another library is at work; code of the program and of the recorder is what it is after. With
// an allocator that says that it may be interrupted it calls it always.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { HANDLER_STACK = 64 << 10, MOST_CODE = 64, SLOTS = 64 };

static char below[HANDLER_STACK];
static volatile long handled, wanted, counted[3];
static volatile sig_atomic_t over, may_jump, by_handler[3];
static uintptr_t code[MOST_CODE][2], outermost;
static int n_code, may_interrupt, jumps;
static sigjmp_buf back;

// Code of other libraries: all but the program and the recorder.
static int note(struct dl_phdr_info *object, size_t size, void *recorder) {
    (void)size;
    if (!*object->dlpi_name || object->dlpi_addr == (uintptr_t)recorder) return 0;
    for (int i = 0; i < object->dlpi_phnum && n_code < MOST_CODE; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        code[n_code][0] = object->dlpi_addr + part->p_vaddr;
        code[n_code++][1] = object->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

static int is_foreign(uintptr_t at) {
    for (int i = 0; i < n_code; i++)
        if (code[i][0] <= at && at < code[i][1]) return 1;
    return 0;
}

// Whether a function of a library was interrupted, or waits for one that was: its return address lies on the stack.
static int in_library(const ucontext_t *interrupted) {
    uintptr_t sp = interrupted->uc_mcontext.gregs[REG_RSP];
    if (is_foreign(interrupted->uc_mcontext.gregs[REG_RIP])) return 1;
    for (; sp < outermost; sp += 8)
        if (is_foreign(*(uintptr_t *)sp)) return 1;
    return 0;
}

__attribute__((noinline, noipa)) static void in_handler(void) {
    void *p = malloc(2000 + handled % 1000);
    by_handler[0]++;
    if (handled % 3 == 0) {
        p = realloc(p, 3500);
        by_handler[1]++;
    }
    free(p);
    by_handler[2]++;
}

static void handler(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    if (over || (!may_interrupt && in_library(context))) return;
    in_handler();
    if (++handled % 10 == 0 && may_jump) siglongjmp(back, 1);
}

__attribute__((noinline, noipa)) static void work(int depth, void **slot, size_t size) {
    if (depth) {
        work(depth - 1, slot, size);
        __asm__ volatile("");
        return;
    }
    // A handler that jumps must not leave a block here that is gone.
    void *old = *slot;
    *(void *volatile *)slot = NULL;
    if (old && size % 4 == 0) {
        *slot = realloc(old, size);
        counted[1]++;
        return;
    }
    if (old) {
        free(old);
        counted[2]++;
    }
    *slot = malloc(size);
    counted[0]++;
}

__attribute__((noinline, noipa)) static void run(void) {
    void *slots[SLOTS] = {0};
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    // A little longer than a handler takes; the odd number keeps it from striking in step with the loop.
    struct itimerspec often = {.it_interval.tv_nsec = 19991, .it_value.tv_nsec = 19991}, never = {0};
    event._sigev_un._tid = gettid();
    outermost = (uintptr_t)__builtin_frame_address(0);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    volatile unsigned i = 1;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    // Released here and not by the jump, which does so while it is still on the handler's stack.
    if (sigsetjmp(back, 0)) i += 2;
    may_jump = jumps;
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    for (; handled < wanted; i++) work(i % 7, &slots[i * 7 % SLOTS], 1 + i % 1000);
    over = 1;
    timer_settime(timer, 0, &never, NULL);
    timer_delete(timer);
}

static void *in_thread(void *stack) {
    // A thread's stack lies in a separate mapping, and one that is mapped above it has higher addresses.
    stack_t alternate = {.ss_sp = stack, .ss_size = HANDLER_STACK};
    sigaltstack(&alternate, NULL);
    run();
    alternate.ss_flags = SS_DISABLE;
    sigaltstack(&alternate, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    const char *where = argc > 2 ? argv[2] : "below";
    char within[HANDLER_STACK];
    void *recorder = dlsym(RTLD_DEFAULT, "heapwise_is_recording");
    Dl_info found = {0};
    if (recorder) dladdr(recorder, &found);
    dl_iterate_phdr(note, found.dli_fbase);
    may_interrupt = dlsym(RTLD_DEFAULT, "this_malloc_may_be_interrupted") != NULL;
    wanted = argc > 1 ? atol(argv[1]) : 1000;
    jumps = argc > 3 && !strcmp(argv[3], "jump");
    stack_t alternate = {.ss_sp = strcmp(where, "within") ? below : within, .ss_size = HANDLER_STACK};
    int flags = SA_SIGINFO | (strcmp(where, "none") ? SA_ONSTACK : 0);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    if (!strcmp(where, "above")) {
        // The kernel maps from high to low addresses.
        pthread_attr_t attributes;
        pthread_t thread;
        size_t size = 1 << 20;
        void *upper = mmap(NULL, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *lower = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (lower > upper) {
            void *other = upper;
            upper = lower, lower = other;
        }
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, lower, HANDLER_STACK);
        pthread_create(&thread, &attributes, in_thread, upper);
        pthread_join(thread, NULL);
    } else {
        run();
    }
    char line[100];
    int len = snprintf(line, sizeof line, "calls %ld %ld %ld\n", counted[0] + by_handler[0],
                       counted[1] + by_handler[1], counted[2] + by_handler[2]);
    return write(1, line, len) != len;
}
