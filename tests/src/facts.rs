//! What is known of a victim in addition to the lines that it prints.

/// Facts about a victim.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// How many program images take part in the recording; `None` where that does not depend on the victim alone (shells in
    /// between).
    pub processes: Option<usize>,
    /// How many processes there are of each kind that an expectation names; one of those that are not listed.
    kinds: &'static [(&'static str, u64)],
    /// Whether it frees blocks that the recording cannot know, or reuses some without an event.
    pub unknown_blocks: bool,
    /// Whether events may be lost: its process is killed in the middle of an event.
    pub may_lose: bool,
    /// Whether nothing of it can be recorded.
    pub invisible: bool,
    /// Whether its stacks can be followed out to the first function; hand-written and generated code ends some.
    pub whole_stacks: bool,
    /// Whether the recording has to wait for a process that outlives the first one.
    pub wait: bool,
    /// One in how many stacks is compared with a full unwind, which is slow on deep ones.
    pub verify_every: u32,
    pub arguments: &'static [&'static str],
}

const PLAIN: Facts = Facts {
    processes: Some(1),
    kinds: &[],
    unknown_blocks: false,
    may_lose: false,
    invisible: false,
    whole_stacks: true,
    wait: false,
    verify_every: 1,
    arguments: &[],
};

impl Facts {
    /// The facts about the victim of that name. Most have none.
    pub fn of(victim: &str) -> Self {
        match victim {
            // A child that does not allocate before it executes or ends does not join.
            "clearenv_fork_exec" => Self { processes: Some(2), ..PLAIN },
            "daemon_closes_descriptors" => Self { processes: Some(2), wait: true, ..PLAIN },
            "exec_keeps_pid" => Self { processes: Some(4), ..PLAIN },
            // The child frees a block of its parent.
            "fork_child_allocates" => Self { processes: Some(2), unknown_blocks: true, ..PLAIN },
            "fork_chain" => Self { processes: Some(11), ..PLAIN },
            // The first image, its child until the exec, and the child's image.
            "fork_exec_self" => Self { processes: Some(3), ..PLAIN },
            "fork_from_thread" => Self { processes: Some(51), kinds: &[("child", 50)], ..PLAIN },
            "fork_shares_pages" => Self { processes: Some(5), kinds: &[("child", 4)], ..PLAIN },
            "fork_handlers" => Self { processes: Some(21), kinds: &[("child", 20)], ..PLAIN },
            "marks_and_spans" => Self { processes: Some(2), ..PLAIN },
            "posix_spawn_self" => Self { processes: Some(3), kinds: &[("image", 2)], ..PLAIN },
            "rust_spawn_command" => Self { processes: Some(3), kinds: &[("image", 2)], ..PLAIN },
            // Shells for two of them.
            "starts_programs" => Self { processes: None, kinds: &[("image", 14)], ..PLAIN },
            "system_command" => Self { processes: None, ..PLAIN },
            // Two of ten fail to execute; the others are separate images.
            "vfork_exec" => Self { processes: Some(9), kinds: &[("image", 8)], ..PLAIN },
            // A report holds each of the stacks in full, so the default depths would make it huge.
            "deep_recursion" => Self { verify_every: 17, arguments: &["500"], ..PLAIN },
            "random_depth" => Self { verify_every: 17, arguments: &["8"], ..PLAIN },
            "libc_entry_points" => Self { unknown_blocks: true, ..PLAIN },
            "asm_without_cfi" | "jit_trampoline" => Self { whole_stacks: false, ..PLAIN },
            // Their threads are ended at any point.
            "threads_alive_at_exit" | "exit_from_thread" | "rust_exit_in_thread" => {
                Self { unknown_blocks: true, ..PLAIN }
            }
            _ => PLAIN,
        }
    }

    /// How many processes an expectation's `process=` stands for.
    pub fn how_many(&self, process: &str) -> u64 {
        self.kinds.iter().find(|(kind, _)| *kind == process).map_or(1, |(_, n)| *n)
    }
}
