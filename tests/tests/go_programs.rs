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
	if _, _, failed := syscall.RawSyscall(317, 1, 1, uintptr(unsafe.Pointer(&filter))); failed != 0 {
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

/// Compiles the program; `None` if there is no Go and the test may be skipped.
fn compile(folder: &Path, name: &str, in_c: &str, flags: &[&str]) -> Option<PathBuf> {
    let go = programs::find("go")?;
    let sources = [("main", PROGRAM), ("allocate", in_c)].map(|(part, text)| {
        let file = folder.join(format!("{name}-{part}.go"));
        std::fs::write(&file, text).expect("it can be written");
        file
    });
    let program = folder.join(name);
    let mut command = run::command(go, folder);
    command.env("GOCACHE", folder.join("cache")).env("GOPATH", folder).env("CGO_ENABLED", "1");
    command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-buildvcs=false").env("GO111MODULE", "off");
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
    let recording = Recording::new(folder.path()).variable("CHILD", child.to_str().expect("a path"));
    let recorded = recording.variable("FILTER", "1").record(&program, &[]);
    assert_eq!(recorded.outcome.code(), 5, "{}", recorded.outcome.stderr);
    assert_eq!(of_work(&recorded), 0, "nothing is traced");
}
