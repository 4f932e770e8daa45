// victim: forbids itself by a seccomp filter to open, create, connect or execute anything and goes on allocating and starting threads; flags: -pthread
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

__attribute__((noinline, noipa)) static void in_sandbox(void) {
    void *volatile p = malloc(150);
    free(p);
}
static void *body(void *unused) {
    for (int i = 0; i < 5000; i++) in_sandbox();
    return unused;
}

// The process is killed at such a call, as sandboxes do.
#define FORBID(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

int main(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        FORBID(SYS_open),    FORBID(SYS_openat),  FORBID(SYS_socket),           FORBID(SYS_connect), FORBID(SYS_memfd_create),
        FORBID(SYS_execve),  FORBID(SYS_ftruncate), FORBID(SYS_process_vm_readv), FORBID(SYS_readlink), FORBID(SYS_shmget),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    // The first thread of glibc's second arena reads files of /sys, so that is done before.
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    pthread_join(t, NULL);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
    body(NULL);
    for (int i = 0; i < 3; i++) {
        pthread_create(&t, NULL, body, NULL);
        pthread_join(t, NULL);
    }
    printf("expect site=in_sandbox blocks=25000 bytes=3750000 live=0\n");
    return 0;
}
