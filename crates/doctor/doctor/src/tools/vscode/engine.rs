//! What debuggers for VS Code do about the debug heap by default.

/// How a configuration sets the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `"env": {"NAME": "VALUE"}`.
    Object,
    /// `"env"` as an object or as an array of `"NAME=VALUE"`; what is there decides.
    ObjectOrLines,
    /// `"env": ["NAME=VALUE"]`, unless there is an object already.
    Lines,
    /// `"environment": [{"name": "NAME", "value": "VALUE"}]`.
    Pairs,
    /// Not known for sure; nothing is written.
    Unsure,
}

#[derive(Debug)]
pub(super) struct Engine {
    /// The values of `type` in a configuration.
    pub(super) types: &'static [&'static str],
    /// What people call it.
    pub(super) name: &'static str,
    /// Whether a program has the debug heap by default.
    pub(super) is_on: bool,
    /// Why, and since when.
    pub(super) why: &'static str,
    /// How its configuration sets the environment.
    pub(super) form: Form,
}

impl Engine {
    /// The member that has the environment.
    pub(super) fn key(&self) -> &'static str {
        if self.form == Form::Pairs { "environment" } else { "env" }
    }
}

/// CodeLLDB, which also has separate settings.
pub(super) const CODELLDB: Engine = Engine {
    types: &["lldb"],
    name: "CodeLLDB",
    is_on: true,
    // Source: MANUAL.md of vadimcn/codelldb does not mention the variable; LLDB before 24 does not set it.
    why: "CodeLLDB leaves the debug heap on (its LLDB does before LLDB 24)",
    form: Form::Object,
};

/// LLDB's own extension.
const LLDB_DAP: Engine = Engine {
    types: &["lldb-dap"],
    name: "lldb-dap",
    is_on: true,
    // Source: llvm-project issue 201690, pull requests 212126 and 212290; lldb/tools/lldb-dap/README.md for `env`.
    why: "lldb-dap leaves the debug heap on before LLDB 24",
    form: Form::ObjectOrLines,
};

/// All of them. Other types start no native program under a debugger of Windows.
const ENGINES: &[Engine] = &[
    CODELLDB,
    LLDB_DAP,
    // What lldb-dap was called before LLDB 18. Its package.json has `env` as an array of strings (reviews.llvm.org/D104578).
    Engine { types: &["lldb-vscode"], name: "lldb-vscode", form: Form::Lines, ..LLDB_DAP },
    Engine {
        types: &["cppvsdbg"],
        name: "C/C++ (cppvsdbg)",
        is_on: false,
        // Source: configurationProvider.ts of microsoft/vscode-cpptools; issue 3484, pull request 3488 (2019).
        why: "cppvsdbg sets _NO_DEBUG_HEAP itself (since 2019)",
        form: Form::Pairs,
    },
    Engine {
        types: &["cppdbg"],
        name: "C/C++ (cppdbg)",
        is_on: true,
        // Source: the same place in configurationProvider.ts asks for the type cppvsdbg.
        why: "cppdbg leaves the debug heap on: the C/C++ extension sets _NO_DEBUG_HEAP for cppvsdbg alone",
        form: Form::Pairs,
    },
    Engine {
        types: &["gdb", "lldb-mi"],
        name: "Native Debug",
        is_on: true,
        // A debugger that creates its process without a flag or a variable gets the debug heap; there is no source that this one
        // has either.
        why: "gdb creates the process as its debuggee and sets no _NO_DEBUG_HEAP",
        form: Form::Unsure,
    },
];

/// The debugger of a configuration.
pub(super) fn engine(kind: &str) -> Option<&'static Engine> {
    ENGINES.iter().find(|engine| engine.types.contains(&kind))
}
