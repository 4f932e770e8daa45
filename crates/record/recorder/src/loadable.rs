//! Keeps `LD_PRELOAD` loadable for the programs that this one starts.
//!
//! The preload library is reached through `/proc/<collector>/fd/<n>`. A process that has given up its rights, entered another pid
//! namespace or lost `/proc`, or whose collector is gone, cannot open that, and neither can what it starts: the loader would print
//! a line about it on the program's standard error. So each function that starts a program first checks whether the library can
//! still be reached, and if not overwrites its path in the variable with spaces, which the loader skips. A child of `vfork` shares
//! its strings with its parent, which may go on with all its rights: spaces become the path again where the library is in reach.
//!
//! Then each sees to a program that would not be recorded ([`unreached`]).

use crate::arch::entry::Arguments;
use crate::process::PROCESS;
use crate::session::{SessionPath, own_environment, variable, variable_in};
use crate::unreached::Has;
use crate::{real, sys, unreached};
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};
use heapwise_trace::live::layout::SESSION_VARIABLE;

const VARIABLE: &str = "LD_PRELOAD";
/// Longest path of the library, and the spaces that replace it.
const LONGEST: usize = 96;
static SPACES: [u8; LONGEST] = [b' '; LONGEST];

/// The library that was loaded into this process.
struct Library {
    path: UnsafeCell<Option<SessionPath>>,
    /// What the path leads to: another process may have the collector's number one day.
    target: UnsafeCell<[u8; LONGEST]>,
    /// Bytes of that, set last; 0 while there is nothing.
    target_len: AtomicUsize,
}

// SAFETY: both cells are written once, by `start`, before `target_len` is set with release ordering, and only read after that was
// seen.
unsafe impl Sync for Library {}

static LIBRARY: Library = Library {
    path: UnsafeCell::new(None),
    target: UnsafeCell::new([0; LONGEST]),
    target_len: AtomicUsize::new(0),
};

/// Notes where the library was loaded from. To be called when it is loaded, before there is a second thread.
pub fn start() {
    let Some(list) = variable(VARIABLE) else { return };
    let mut paths = list.to_bytes().split(|b| b" :".contains(b)).filter_map(SessionPath::new);
    let Some(path) = paths.next() else { return };
    let mut target = [0; LONGEST];
    let Ok(len @ 1..LONGEST) = sys::read_link(path.as_c_str(), &mut target) else { return };
    if LIBRARY.target_len.load(Ordering::Acquire) != 0 {
        return;
    }
    // SAFETY: no thread reads them before the length is set below, and nothing else writes them.
    unsafe {
        *LIBRARY.path.get() = Some(path);
        *LIBRARY.target.get() = target;
    }
    LIBRARY.target_len.store(len, Ordering::Release);
}

/// Whether the program that is about to be started may open what this one may. A process that gave up being root may
/// have kept the capabilities until now, and loses them with `exec`.
fn is_in_reach(path: &CStr) -> bool {
    let own = sys::user_and_group();
    own.0 == 0 || sys::owner(path) == Some(own)
}

/// The library's path, and whether it can be opened from here, now.
fn library() -> Option<(&'static CStr, bool)> {
    let len = LIBRARY.target_len.load(Ordering::Acquire);
    if len == 0 {
        return None;
    }
    // SAFETY: written before the length was set, and never again.
    let (path, target) = unsafe { ((*LIBRARY.path.get()).as_ref()?.as_c_str(), &*LIBRARY.target.get()) };
    let mut now = [0; LONGEST];
    let is_same = sys::read_link(path, &mut now) == Ok(len) && now.get(..len) == target.get(..len);
    Some((path, is_same && is_in_reach(path)))
}

/// Sets the variable right in an environment that a program is about to get.
///
/// # Safety
/// It is null, or a null-terminated array of strings.
unsafe fn tend(environment: *const *const c_char) {
    // SAFETY: the caller's promise, and that of its own caller: the environment does not change until the call is over.
    let Some(list) = (unsafe { variable_in(environment, VARIABLE) }) else { return };
    let Some((path, is_loadable)) = library() else { return };
    let path = path.to_bytes();
    let Some(spaces) = SPACES.get(..path.len()) else { return };
    let (from, to) = if is_loadable { (spaces, path) } else { (path, spaces) };
    let list = list.to_bytes();
    let is_whole = |&at: &usize| {
        let is_end = |byte: Option<&u8>| byte.is_none_or(|b| b" :".contains(b));
        is_end(at.checked_sub(1).and_then(|before| list.get(before))) && is_end(list.get(at + from.len()))
    };
    let mut places = (0..list.len()).filter(|&at| list[at..].starts_with(from)).filter(is_whole);
    if let Some(at) = places.next() {
        // A program that keeps its environment where it cannot be written to keeps the path.
        let _ = sys::write_checked(list[at..].as_ptr() as usize, to);
    }
}

/// What a program that gets this environment has of the library and the session: without one of them, what it does is missing. One that
/// gets another session is recorded by another heapwise.
///
/// # Safety
/// It is null, or a null-terminated array of strings.
unsafe fn has(environment: *const *const c_char) -> Has {
    // SAFETY: the caller's promise, and that of its own caller: the environment does not change until the call is over.
    let (list, session) =
        unsafe { (variable_in(environment, VARIABLE), variable_in(environment, SESSION_VARIABLE)) };
    if cfg!(feature = "image") {
        // Nothing was preloaded here. The program has the variables of what started it, or of no heapwise.
        return if session.is_some() { Has::All } else { Has::NotAll };
    }
    let (Some((path, is_loadable)), Some(own)) = (library(), PROCESS.session_path()) else {
        return Has::All;
    };
    let has_all = session.is_some_and(|session| {
        session != own || list.is_some_and(|list| contains(list.to_bytes(), path.to_bytes()))
    });
    match (has_all, is_loadable) {
        (true, _) => Has::All,
        (false, true) => Has::NotAll,
        (false, false) => Has::NoReach,
    }
}

fn contains(list: &[u8], path: &[u8]) -> bool {
    list.split(|b| b" :".contains(b)).any(|one| one == path)
}

/// What is jumped to in place of a function that the C library does not have.
extern "C" fn missing() -> isize {
    sys::set_errno(sys::ENOSYS);
    -1
}

/// Where the environment of a call is found.
#[derive(Clone, Copy)]
enum Environment {
    /// The process's own.
    Own,
    /// An argument.
    At(usize),
    /// The argument after a list that begins with the second one and ends with a null pointer.
    AfterList,
}

impl Environment {
    /// # Safety
    /// `call` has the arguments of a function with such an environment.
    unsafe fn of(self, call: &Arguments) -> *const *const c_char {
        let place = match self {
            Self::Own => return own_environment(),
            Self::At(place) => place,
            Self::AfterList => {
                let mut place = 1;
                // SAFETY: the list has an end.
                while unsafe { call.at(place) } != 0 {
                    place += 1;
                }
                place + 1
            }
        };
        // SAFETY: the caller's promise.
        (unsafe { call.at(place) }) as *const *const c_char
    }
}

/// Where the program of a call is found.
#[derive(Clone, Copy)]
enum Program {
    /// An argument is its path.
    Path(usize),
    /// An argument is its path, or its name in a folder of `PATH`.
    Searched(usize),
    /// The first argument is its descriptor.
    Descriptor,
    /// The second argument is its path below the folder that the first one names, or empty for that file itself.
    At,
    /// The shell.
    Shell,
}

impl Program {
    /// Has it noted if it cannot be recorded.
    ///
    /// # Safety
    /// `call` has the arguments of a function with such a program.
    unsafe fn note(self, call: &Arguments, has: Has) {
        // SAFETY: the caller's promise.
        match unsafe { (self, call.at(0) as i32, self.text(call)) } {
            (Self::Descriptor, descriptor, _) => unreached::note_descriptor(descriptor, has),
            (Self::At, descriptor, Some(path)) if path.is_empty() => {
                unreached::note_descriptor(descriptor, has);
            }
            (Self::At, AT_CURRENT_FOLDER, Some(path)) => unreached::note(path, has),
            (Self::At, _, Some(path)) if path.to_bytes().starts_with(b"/") => unreached::note(path, has),
            (Self::Path(_), _, Some(path)) => unreached::note(path, has),
            (Self::Searched(_), _, Some(name)) => unreached::note_searched(name, has),
            (Self::Shell, ..) => unreached::note(c"/bin/sh", has),
            _ => {}
        }
    }

    /// The argument that is a text; `None` if there is none, or it cannot be read.
    ///
    /// # Safety
    /// `call` has the arguments of a function with such a program.
    unsafe fn text(self, call: &Arguments) -> Option<&CStr> {
        let place = match self {
            Self::Path(place) | Self::Searched(place) => place,
            Self::At => 1,
            Self::Descriptor | Self::Shell => return None,
        };
        // SAFETY: the caller's promise.
        let at = unsafe { call.at(place) };
        sys::read_word_checked(at)?;
        // SAFETY: it is an argument that has to be a string, and its beginning can be read.
        Some(unsafe { CStr::from_ptr(at as *const c_char) })
    }
}

/// `AT_FDCWD`.
const AT_CURRENT_FOLDER: i32 = -100;

/// Looks at a program that is about to be executed, and at its environment.
///
/// # Safety
/// `call` has the arguments of a function with such an environment and such a program.
unsafe fn look(call: &Arguments, environment: Environment, program: Program) {
    // SAFETY: the caller's promise.
    unsafe {
        let environment = environment.of(call);
        tend(environment);
        program.note(call, has(environment));
    }
}

macro_rules! only_before {
    ($($name:ident, $function:literal, $environment:expr, $program:expr;)*) => {$(
        #[doc = concat!("Called before `", $function, "` in a program that is linked statically.")]
        ///
        /// # Safety
        /// `call` has the arguments of such a call.
        pub(crate) unsafe extern "C" fn $name(call: *const Arguments) {
            // SAFETY: the caller's promise.
            unsafe { look(&*call, $environment, $program) };
        }
    )*};
}

// All others end in one of these, which make the system calls.
only_before! {
    before_execve, "execve", Environment::At(2), Program::Path(0);
    before_execveat, "execveat", Environment::At(3), Program::At;
    before_fexecve, "fexecve", Environment::At(2), Program::Descriptor;
}

macro_rules! before {
    ($($function:ident, $environment:expr, $program:expr;)*) => {$(
        #[doc = concat!("Called before `", stringify!($function), "`; returns where to go on.")]
        ///
        /// # Safety
        /// `call` has the arguments of such a call.
        pub unsafe extern "C" fn $function(call: *const Arguments) -> *const c_void {
            // SAFETY: the caller's promise.
            unsafe { look(&*call, $environment, $program) };
            if real::$function().is_null() {
                real::resolve();
            }
            let at = real::$function();
            if at.is_null() { missing as *const c_void } else { at }
        }
    )*};
}

before! {
    execve, Environment::At(2), Program::Path(0);
    execveat, Environment::At(3), Program::At;
    fexecve, Environment::At(2), Program::Descriptor;
    execv, Environment::Own, Program::Path(0);
    execvp, Environment::Own, Program::Searched(0);
    execvpe, Environment::At(2), Program::Searched(0);
    execl, Environment::Own, Program::Path(0);
    execlp, Environment::Own, Program::Searched(0);
    execle, Environment::AfterList, Program::Path(0);
    posix_spawn, Environment::At(5), Program::Path(1);
    posix_spawnp, Environment::At(5), Program::Searched(1);
    system, Environment::Own, Program::Shell;
    popen, Environment::Own, Program::Shell;
}
