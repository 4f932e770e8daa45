//! Prints what is planned for files.
fn main() {
    for path in std::env::args_os().skip(1) {
        let started = std::time::Instant::now();
        match heapwise_planner::plan(path.as_ref()) {
            Ok(plan) => {
                println!(
                    "{}: {} planned, {} refused, {:?}",
                    path.display(),
                    plan.planned.len(),
                    plan.refused.len(),
                    started.elapsed()
                );
                for p in &plan.planned {
                    println!(
                        "  {} {} {:?} displaces {} at {:#x}",
                        p.family, p.name, p.hook.kind, p.hook.displaced_len, p.in_file
                    );
                }
                for r in &plan.refused {
                    println!("  {} {}: {}", r.family, r.name, r.why);
                }
            }
            Err(error) => println!("{}: {error}", path.display()),
        }
    }
}
