//! Programs in Go, with C in them and without, and what they start: Go makes its system calls itself.

use heapwise_tests::build::compile_text;
use heapwise_tests::programs;
use heapwise_tests::recording::{Recorded, Recording};
use heapwise_tests::run;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Waits for a file, allocates in C, starts the child three times on each of four threads, and becomes it.
const PROGRAM: &str = r#"
package main

import (
	"syscall"
	"unsafe"
)

type step struct {
	code       uint16
	yes, no    uint8
	value      uint32
}

// Has the kernel kill what calls fgetxattr, on all threads.
func confine() {
	steps := []step{{0x20, 0, 0, 0}, {0x15, 0, 1, 193}, {6, 0, 0, 0x80000000}, {6, 0, 0, 0x7fff0000}}
	filter := struct {
		count uint16
		steps *step
	}{4, &steps[0]}
	syscall.RawSyscall6(syscall.SYS_PRCTL, 38, 1, 0, 0, 0, 0)
	install := syscall.RawSyscall
	if kind, _ := syscall.Getenv("FILTER"); kind == "noted" {
		install = syscall.Syscall
	}
	if _, _, failed := install(317, 1, 1, uintptr(unsafe.Pointer(&filter))); failed != 0 {
		panic(failed)
	}
}

func main() {
	if filter, _ := syscall.Getenv("FILTER"); filter != "" {
		confine()
	}
	begin, _ := syscall.Getenv("BEGIN")
	syscall.Write(1, []byte("ready\n"))
	for begin != "" && syscall.Access(begin, 0) != nil {
		pause := syscall.Timespec{Nsec: 1000000}
		syscall.Nanosleep(&pause, nil)
	}
	child, _ := syscall.Getenv("CHILD")
	done := make(chan int)
	for thread := 0; thread < 4; thread++ {
		go func() {
			allocate()
			sum := 0
			for i := 0; i < 3; i++ {
				attributes := &syscall.ProcAttr{Env: syscall.Environ(), Files: []uintptr{0, 1, 2}}
				pid, err := syscall.ForkExec(child, []string{child}, attributes)
				if err != nil {
					panic(err)
				}
				var status syscall.WaitStatus
				syscall.Wait4(pid, &status, 0, nil)
				sum += status.ExitStatus()
			}
			done <- sum
		}()
	}
	if <-done + <-done + <-done + <-done != 12 * 5 {
		panic("a child ended otherwise")
	}
	syscall.Exec(child, []string{child}, syscall.Environ())
}
"#;

/// What it has in C; without it, it is linked statically, and has no allocator that is known.
const IN_C: &str = r#"
package main

/*
#include <stdlib.h>
__attribute__((noinline, noipa)) static void work(int blocks) {
    for (int i = 0; i < blocks; i++) {
        void *volatile block = malloc(16 + i % 500);
        free(block);
    }
}
*/
import "C"

func allocate() { C.work(1000) }
"#;
const NOT_IN_C: &str = "package main\nfunc allocate() {}\n";

const CHILD: &str = r#"
#include <stdlib.h>
__attribute__((noinline, noipa)) static void work(int blocks) {
    for (int i = 0; i < blocks; i++) {
        void *volatile block = malloc(16 + i % 500);
        free(block);
    }
}
int main(void) {
    work(500);
    return 5;
}
"#;

/// Calls in `work` of the program itself.
const IN_PROGRAM: u64 = 4 * 1000;
/// The same of what its threads start, and of what it becomes.
const IN_CHILDREN: u64 = 13 * 500;

/// The path of another `go` to be tried. Before 1.19, programs make their system calls otherwise; before 1.18, there is no `-buildvcs`.
const ANOTHER_GO: &str = "HEAPWISE_GO";

/// Compiles the program; `None` if there is no Go and the test may be skipped.
fn compile(folder: &Path, name: &str, in_c: &str, flags: &[&str]) -> Option<PathBuf> {
    let another = std::env::var_os(ANOTHER_GO).map(PathBuf::from);
    let go = another.clone().or_else(|| programs::find("go"))?;
    let sources = [("main", PROGRAM), ("allocate", in_c)].map(|(part, text)| {
        let file = folder.join(format!("{name}-{part}.go"));
        std::fs::write(&file, text).expect("it can be written");
        file
    });
    let program = folder.join(name);
    let mut command = run::command(go, folder);
    command.env("GOCACHE", folder.join("cache")).env("GOPATH", folder).env("CGO_ENABLED", "1");
    command.env("GOENV", "off").env("GOTOOLCHAIN", "local").env("GO111MODULE", "off");
    if another.is_none() {
        command.env("GOFLAGS", "-buildvcs=false");
    }
    command.args(["build", "-o"]).arg(&program).args(flags).args(&sources);
    let outcome = run::finish(&mut command, folder, "go");
    assert_eq!(outcome.code(), 0, "{}", outcome.stderr);
    Some(program)
}

/// Blocks that were handed out in `work`, in C.
fn of_work(recorded: &Recorded) -> u64 {
    let report = recorded.report();
    let is_work = |site: &&_| report.stack(site).any(|frame| frame.function.as_deref() == Some("work"));
    report.sites.iter().filter(is_work).map(|site| site.allocations).sum()
}

fn check(recorded: &Recorded, blocks: u64, what: &str) {
    let said = &recorded.outcome.stderr;
    assert_eq!(of_work(recorded), blocks, "{what}: {said}");
    let spots = &recorded.report().interception.blind_spots;
    assert!(!spots.iter().any(|spot| spot.id == "static-child"), "{what}: {spots:?}");
    assert_eq!(recorded.report().totals.lost_events, 0, "{what}");
}

/// What is started.
fn children(folder: &Path) -> [PathBuf; 2] {
    let child = |flags: &[&str], name| compile_text("cc", flags, CHILD, folder, name);
    [child(&["-static"], "static-child"), child(&[], "dynamic-child")]
}

#[test]
fn what_a_program_in_go_starts_is_recorded_however_both_are_linked() {
    let folder = run::private_folder();
    let children = children(folder.path());
    let statically: &[&str] = &["-ldflags", "-linkmode external -extldflags -static"];
    let kinds = [
        ("dynamic", IN_C, &[][..], IN_PROGRAM),
        ("static", IN_C, statically, IN_PROGRAM),
        ("go-alone", NOT_IN_C, &["-ldflags", "-s -w -buildid="], 0),
    ];
    for (name, in_c, flags, in_program) in kinds {
        let Some(program) = compile(folder.path(), name, in_c, flags) else { return };
        for child in children.iter().map(|child| child.to_str().expect("a path")) {
            let what = format!("{name}: {child}");
            let recorded = Recording::new(folder.path()).variable("CHILD", child).record(&program, &[]);
            assert_eq!(recorded.outcome.code(), 5, "{what}: {}", recorded.outcome.stderr);
            check(&recorded, in_program + IN_CHILDREN, &what);
            if in_program == 0 {
                // That is said once. There is nothing to attach to.
                let spots = recorded.report().interception.blind_spots.iter();
                let of_program: Vec<_> = spots.filter(|spot| spot.what.contains(name)).collect();
                assert_eq!(of_program.len(), 1, "{of_program:?}");
                assert_eq!(of_program[0].allocator.as_deref(), Some("Go runtime"));
                continue;
            }
            let begin = folder.path().join("begin");
            let mut command = run::command(&program, folder.path());
            let mut running =
                run::start(command.env("CHILD", child).env("BEGIN", &begin), folder.path(), "program");
            running.wait_for("ready");
            let recording = Recording::new(folder.path());
            let attached = recording.attach(running.pid());
            std::fs::write(&begin, "").expect("it can be written");
            assert_eq!(running.wait(Duration::from_secs(60)).code(), 5, "{what}, attached to");
            check(&recording.wait(attached), in_program + IN_CHILDREN, &format!("{what}, attached to"));
            std::fs::remove_file(&begin).expect("it is there");
        }
    }
}

#[test]
fn once_it_filters_its_system_calls_nothing_is_called_for_the_recorder() {
    let folder = run::private_folder();
    let [child, _] = children(folder.path());
    let Some(program) = compile(folder.path(), "filtered", NOT_IN_C, &[]) else { return };
    // The scheduler notes the system call, or does not.
    for kind in ["noted", "raw"] {
        let recording = Recording::new(folder.path()).variable("CHILD", child.to_str().expect("a path"));
        let recorded = recording.variable("FILTER", kind).record(&program, &[]);
        assert_eq!(recorded.outcome.code(), 5, "{kind}: {}", recorded.outcome.stderr);
        assert_eq!(of_work(&recorded), 0, "{kind}: nothing is traced");
    }
}

/// A program with two functions as Go before 1.19 has them, with their arguments on the stack; the second one calls another one first. It
/// becomes the child by each of them, in a fork.
const LIKE_OLDER_GO: &str = r#"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((section(".go.buildinfo"), used)) static const char sign[] = "Go";
__asm__(
    ".text\n"
    "nothing: ret\n"
    ".balign 16\n"
    "noted: call nothing\n"
    "    mov 16(%rsp), %rdi\n mov 24(%rsp), %rsi\n mov 32(%rsp), %rdx\n mov 8(%rsp), %rax\n syscall\n"
    "    mov %rax, 40(%rsp)\n ret\n"
    ".balign 16\n"
    "raw: mov 16(%rsp), %rdi\n mov 24(%rsp), %rsi\n mov 32(%rsp), %rdx\n mov 8(%rsp), %rax\n syscall\n"
    "    mov %rax, 40(%rsp)\n ret\n"
    "on_stack: push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n sub $64, %rsp\n"
    "    mov %rsi, (%rsp)\n mov %rdx, 8(%rsp)\n mov %rcx, 16(%rsp)\n mov %r8, 24(%rsp)\n call *%rdi\n"
    "    mov 32(%rsp), %rax\n add $64, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n ret\n");
extern char raw[], noted[];
extern long on_stack(void *function, long number, const void *a, const void *b, const void *c);
__attribute__((noinline, noipa)) static void work(int blocks) {
    for (int i = 0; i < blocks; i++) {
        void *volatile block = malloc(16 + i % 500);
        free(block);
    }
}
int main(int argc, char **argv) {
    extern char **environ;
    void *functions[] = {raw, noted};
    work(1000);
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        if (on_stack(functions[i], 39, 0, 0, 0) != getpid()) return 1;
        if (fork() == 0) {
            on_stack(functions[i], 59, argv[1], argv + 1, environ);
            _exit(1);
        }
        int status;
        wait(&status);
        sum += WEXITSTATUS(status);
    }
    return sum;
}
"#;

#[test]
fn what_is_started_by_functions_with_their_arguments_on_the_stack_is_recorded() {
    let folder = run::private_folder();
    let program = compile_text("cc", &["-static"], LIKE_OLDER_GO, folder.path(), "like-older-go");
    for child in children(folder.path()) {
        let child = child.to_str().expect("a path");
        let recorded = Recording::new(folder.path()).record(&program, &[child]);
        assert_eq!(recorded.outcome.code(), 10, "{child}: {}", recorded.outcome.stderr);
        check(&recorded, 1000 + 2 * 500, child);
    }
}
