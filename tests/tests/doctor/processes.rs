//! Processes that have to be prepared in a particular way.

use crate::ask::{checkup, end, has, has_not, of_process, started, subject};
use heapwise_tests::victim::Victim;
use heapwise_tests::{programs, run, tool};
use libtest_mimic::Failed;
use std::path::Path;
use std::process::Command;

/// An allocator that fills blocks without any variable or a name that would tell.
pub(crate) fn allocator_that_fills() -> Result<(), Failed> {
    let folder = run::private_folder();
    let library = subject("fills_blocks");
    let variables = [("LD_PRELOAD", library.to_str().ok_or("a path that is text")?)];
    let found = checkup(folder.path(), &variables, &["--", "/bin/ls"])?;
    has(&found, "allocator-probe", "medium")?;
    let evidence = found.findings.iter().flat_map(|finding| &finding.evidence);
    if !evidence.into_iter().any(|line| line.contains("0x77")) {
        return Err(format!("the byte is not named: {found:?}").into());
    }
    Ok(())
}

/// No package has the secure build, so the usual one has its name here.
pub(crate) fn mimalloc_secure() -> Result<(), Failed> {
    let Some(usual) = programs::library("libmimalloc.so.2") else { return Ok(()) };
    let folder = run::private_folder();
    let secure = folder.path().join("libmimalloc-secure.so.2");
    std::fs::copy(usual, &secure)?;
    let variables = [("LD_PRELOAD", secure.to_str().ok_or("a path that is text")?)];
    has(&checkup(folder.path(), &variables, &["--", "/bin/ls"])?, "mimalloc-options", "medium")?;
    let running = started(folder.path(), &variables, &subject("subject"), &[]);
    let found = of_process(folder.path(), &running);
    end(running);
    has(&found?, "mimalloc-options", "medium")
}

pub(crate) fn address_space_limit() -> Result<(), Failed> {
    let folder = run::private_folder();
    let heapwise = tool::heapwise().to_string_lossy();
    let line = format!("ulimit -v 8000000; exec {heapwise} doctor --format json -- /bin/ls");
    let outcome =
        run::finish(run::command("sh", folder.path()).args(["-c", &line]), folder.path(), "limited");
    has(&serde_json::from_slice(&outcome.stdout)?, "resource-limits", "low")?;
    has_not(&checkup(folder.path(), &[], &["--", "/bin/ls"])?, "resource-limits")
}

pub(crate) fn traced() -> Result<(), Failed> {
    let folder = run::private_folder();
    for (tracer, severity) in [("gdb", "note"), ("strace", "medium")] {
        let running = started(folder.path(), &[], &subject("tracer"), &[tracer]);
        let said = running.said();
        let child = said.lines().find_map(|line| line.strip_prefix("child ")).unwrap_or_default();
        let found = checkup(folder.path(), &[], &["--pid", child]);
        end(running);
        has(&found?, "tracer", severity)?;
    }
    Ok(())
}

pub(crate) fn valgrind() -> Result<(), Failed> {
    let Some(valgrind) = programs::find("valgrind") else { return Ok(()) };
    let folder = run::private_folder();
    let program = subject("subject");
    let running = started(folder.path(), &[], &valgrind, &["--quiet", &program.to_string_lossy()]);
    let found = of_process(folder.path(), &running);
    end(running);
    has(&found?, "valgrind", "high")
}

/// heapwise itself is a heap profiler, too.
pub(crate) fn recorded() -> Result<(), Failed> {
    let folder = run::private_folder();
    let program = subject("subject");
    let arguments = ["run", "--no-report", "--", &program.to_string_lossy()];
    let running = started(folder.path(), &[], tool::heapwise(), &arguments);
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let child = std::fs::read_to_string(children)?;
    let found = checkup(folder.path(), &[], &["--pid", child.trim()]);
    end(running);
    has(&found?, "heap-profiler", "medium")
}

pub(crate) fn musl() -> Result<(), Failed> {
    let Some(compiler) = programs::find("musl-gcc") else { return Ok(()) };
    let folder = run::private_folder();
    let source = Victim::all_in("victims/doctor")
        .into_iter()
        .find(|v| v.name == "subject")
        .ok_or("it is there")?
        .source;
    for (name, flags) in [("dynamic", &[][..]), ("static", &["-static"][..])] {
        let program = folder.path().join(name);
        let status = Command::new(&compiler).args(flags).arg(&source).arg("-o").arg(&program).status()?;
        if !status.success() {
            return Err("musl-gcc failed".into());
        }
        has(&checkup(folder.path(), &[], &["--", &program.to_string_lossy()])?, "musl-allocator", "medium")?;
        let running = started(folder.path(), &[], &program, &[]);
        let found = of_process(folder.path(), &running);
        end(running);
        has(&found?, "musl-allocator", "medium")?;
    }
    Ok(())
}

/// A group of version 1 with a limit that file pages have met. Only root can make one, and only where there are such groups.
pub(crate) fn control_group_at_its_limit() -> Result<(), Failed> {
    let all = std::fs::read_to_string("/proc/self/cgroup")?;
    let own = all
        .lines()
        .find_map(|line| line.split_once(":memory:").map(|(_, path)| path.trim_start_matches('/')));
    let group = Path::new("/sys/fs/cgroup/memory").join(own.unwrap_or_default());
    let group = group.join(format!("heapwise-test-{}", std::process::id()));
    if own.is_none() || std::fs::create_dir(&group).is_err() {
        eprintln!("SKIPPED: no control group can be made here");
        return Ok(());
    }
    let result = in_group(&group);
    // Its processes are gone, but the system may take a moment to notice.
    for _ in 0..100 {
        if std::fs::remove_dir(&group).is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    result
}

fn in_group(group: &Path) -> Result<(), Failed> {
    std::fs::write(group.join("memory.limit_in_bytes"), "16777216")?;
    let folder = run::private_folder();
    let join = format!(
        "echo $$ > {}/cgroup.procs; head -c 67108864 /dev/zero > file; echo ready; sleep 100",
        group.display()
    );
    let running = started(folder.path(), &[], Path::new("/bin/sh"), &["-c", &join]);
    let found = of_process(folder.path(), &running);
    end(running);
    let found = found?;
    if !found.findings.iter().any(|finding| finding.id == "cgroup-memory") {
        return Err(format!("not reported: {found:#?}").into());
    }
    Ok(())
}
