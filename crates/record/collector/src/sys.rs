//! The system calls that std does not have, each wrapped once.

#![expect(unsafe_code, reason = "makes system calls and maps memory")]

use nix::sys::signal::{SigSet, SigmaskHow};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes an anonymous file in memory. It is not inherited by programs that are started.
pub(crate) fn memory_file(name: &CStr, executable: bool) -> io::Result<OwnedFd> {
    /// Kernel 6.3 and later expect this flag; earlier ones refuse it.
    const MFD_EXEC: libc::c_uint = 0x10;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let make = |flags| {
        // SAFETY: the name is a C string; the result is a new descriptor or -1.
        check(unsafe { libc::memfd_create(name.as_ptr(), flags) })
    };
    let fd = if executable { make(flags | MFD_EXEC).or_else(|_| make(flags)) } else { make(flags) }?;
    // SAFETY: a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Gives a file a length, as far as this user may go beyond the limit on file sizes: to the kernel, sparse shared memory
/// is a large file.
///
/// # Errors
/// The system's.
pub fn set_len_unlimited(file: &File, len: u64) -> io::Result<()> {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills in the structure.
    check(unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut before) })?;
    let set = |cur, max| {
        let limit = libc::rlimit { rlim_cur: cur, rlim_max: max };
        // SAFETY: the kernel reads the structure.
        check(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) })
    };
    let infinity = libc::RLIM_INFINITY;
    // Only a privileged user may raise the hard limit; every user the soft one up to it.
    let _ = set(infinity, infinity).or_else(|_| set(before.rlim_max, before.rlim_max));
    let result = file.set_len(len);
    set(before.rlim_cur, before.rlim_max)?;
    result
}

/// Forbids for good to change an anonymous file's length, and what else is named.
pub(crate) fn seal(file: &OwnedFd, more: libc::c_int) -> io::Result<()> {
    let seals = more | libc::F_SEAL_GROW | libc::F_SEAL_SHRINK | libc::F_SEAL_SEAL;
    // SAFETY: an integer argument.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }).map(drop)
}

/// Releases the memory of a range of an anonymous file.
pub(crate) fn punch_hole(file: &OwnedFd, offset: u64, len: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: integer arguments. A failure only costs memory.
    let _ = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as i64, len as i64) };
}

/// The first offset from `from` on at which something was written to an anonymous file, to the page.
pub(crate) fn next_written(file: &OwnedFd, from: u64) -> Option<u64> {
    // SAFETY: integer arguments; the position of this file is not used.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from as i64, libc::SEEK_DATA) };
    u64::try_from(found).ok()
}

/// Whether the page at an offset was written. Reading one that was not through a mapping would take memory.
pub(crate) fn is_written(file: &OwnedFd, offset: u64) -> bool {
    next_written(file, offset) == Some(offset)
}

/// Reads words from an offset of a file, behind those that are there. Parts that were never written are zeroes, and take no
/// memory. `None` if not all of them can be read.
pub(crate) fn read_words(file: &OwnedFd, offset: u64, count: usize, to: &mut Vec<u64>) -> Option<()> {
    to.reserve(count);
    let bytes = count.checked_mul(8)?;
    // SAFETY: the vector has room for `count` more words, to which only this call writes; any bytes are a word, and those
    // that the kernel has written are initialised.
    unsafe {
        let at = to.as_mut_ptr().add(to.len()).cast();
        let got = libc::pread(file.as_raw_fd(), at, bytes, offset as i64);
        if usize::try_from(got) != Ok(bytes) {
            return None;
        }
        to.set_len(to.len() + count);
    }
    Some(())
}

/// Opens something in a folder, or from the root, without following a link: a folder to go on from, or a file to be read.
pub(crate) fn open_in(folder: &File, name: &CStr, is_folder: bool) -> io::Result<File> {
    let what = if is_folder { libc::O_PATH | libc::O_DIRECTORY } else { libc::O_RDONLY | libc::O_NONBLOCK };
    let flags = what | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name is a C string; the result is a new descriptor or -1.
    let fd = check(unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) })?;
    // SAFETY: a new descriptor that nothing else owns.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// The user as whom this process acts.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() }
}

/// A shared mapping of a part of a file.
#[derive(Debug)]
pub(crate) struct Mapping {
    at: *mut u8,
    len: usize,
}

// SAFETY: the mapping is plain memory; what is in it is only reached through atomics or copied out.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(crate) fn new(file: &OwnedFd, offset: u64, len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: the kernel chooses free addresses.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), len, protection, flags, file.as_raw_fd(), offset as i64)
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { at: at.cast(), len })
    }

    /// A structure of atomics at an offset; `None` if it does not fit or is not aligned.
    pub(crate) fn get<T: Shared>(&self, offset: usize) -> Option<&T> {
        let end = offset.checked_add(size_of::<T>())?;
        if end > self.len || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: within the mapping, aligned (mappings begin at a page), and `Shared` types are valid for any bytes
        // and may change at any time.
        Some(unsafe { &*self.at.add(offset).cast::<T>() })
    }

    /// Copies bytes out; `None` if the range does not fit.
    pub(crate) fn copy_bytes(&self, offset: usize, len: usize) -> Option<Vec<u8>> {
        let end = offset.checked_add(len)?;
        if end > self.len {
            return None;
        }
        let mut bytes = vec![0; len];
        // SAFETY: the source is within the mapping, the target is as long as what is copied.
        unsafe { std::ptr::copy_nonoverlapping(self.at.add(offset), bytes.as_mut_ptr(), len) };
        Some(bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: made by `new`; no reference into it outlives the owner.
        let _ = unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Types that may lie in shared memory: all their fields are atomics.
///
/// # Safety
/// Any bytes are a valid value, and other processes may change them at any time.
pub(crate) unsafe trait Shared {}

// SAFETY: `repr(C)` structures of atomics only.
unsafe impl Shared for heapwise_trace::live::layout::SessionHeader {}
// SAFETY: as above.
unsafe impl Shared for heapwise_trace::live::layout::ProcessHeader {}
// SAFETY: as above.
unsafe impl Shared for heapwise_trace::live::layout::RingHeader {}
// SAFETY: as above.
unsafe impl Shared for heapwise_trace::live::layout::NodeRecord {}
// SAFETY: as above.
unsafe impl Shared for heapwise_trace::live::hooks::SharedHook {}

/// Sleeps while `word` is `expected`, at most for `timeout`.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout: Duration) {
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: libc::c_long::from(timeout.subsec_nanos() as i32),
    };
    // SAFETY: both pointers are valid during the call; whatever ends it, the caller looks again.
    let _ = unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &raw const timeout)
    };
}

/// Wakes one sleeper on the low half of a 64-bit word.
pub(crate) fn futex_wake(word: *mut u32) {
    // SAFETY: the kernel only uses the address.
    let _ = unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, 1) };
}

/// This process's id as `/proc` has it, which may be that of another pid namespace: ids of recorded processes are `/proc`'s.
pub(crate) fn id_in_proc() -> u32 {
    let ask = || std::fs::read_link("/proc/self").ok()?.to_str()?.parse().ok();
    ask().unwrap_or_else(std::process::id)
}

/// Lets the calling thread run only where a processor has nothing else to do.
pub fn run_when_idle() {
    // SAFETY: all fields are integers, of which some C libraries have more than the priority; zeroes are valid for them.
    let parameters = unsafe { std::mem::zeroed::<libc::sched_param>() };
    // SAFETY: the kernel reads the structure during the call and keeps nothing of it. If that fails the thread goes on as it is: what it
    // does is wanted all the same.
    let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
}

/// Whether `/proc` is that of this process's own pid namespace, so that its ids are those of system calls.
fn is_proc_ours() -> bool {
    static IS_OURS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IS_OURS.get_or_init(|| id_in_proc() == std::process::id())
}

/// The end of a process, which can be waited for where the kernel has a descriptor for that (5.3).
#[derive(Debug)]
pub(crate) struct End(Option<OwnedFd>);

impl End {
    /// Where there is no descriptor, its end is not noticed here.
    const WITHOUT: Duration = Duration::from_millis(10);

    pub(crate) fn of(pid: u32) -> Self {
        let open = || {
            // SAFETY: integer arguments; the result is a new descriptor or -1.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
            let fd = check(libc::c_int::try_from(fd).unwrap_or(-1)).ok()?;
            // SAFETY: a new descriptor that nothing else owns.
            Some(unsafe { OwnedFd::from_raw_fd(fd) })
        };
        Self(is_proc_ours().then(open).flatten())
    }

    /// Waits until it is over, a signal arrives, or for so long: a moment only, where its end is not noticed.
    pub(crate) fn wait(&self, most: Duration) {
        let Some(fd) = &self.0 else { return std::thread::sleep(most.min(Self::WITHOUT)) };
        let mut end = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let most = libc::c_int::try_from(most.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one structure, which is valid during the call; whatever ends it, the caller looks again.
        unsafe { libc::poll(&raw mut end, 1, most) };
    }
}

/// Whether a thread is gone. One that may not be queried, or whose id is not known, counts as running.
pub(crate) fn thread_is_gone(pid: u32, tid: u32) -> bool {
    if tid == 0 {
        return false;
    }
    if !is_proc_ours() {
        let task = std::fs::metadata(format!("/proc/{pid}/task/{tid}"));
        return task.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    }
    // SAFETY: signal 0 only checks.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid as i32, tid as i32, 0) };
    result < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Resident pages of a process, asked through any thread that is alive: its first one may have ended before the others.
/// `None` if there is no such thread: the process is gone or a zombie.
pub(crate) fn resident_pages(pid: u32) -> Option<u64> {
    let pages = |task: &str| -> Option<u64> {
        let statm = std::fs::read_to_string(format!("/proc/{pid}/{task}statm")).ok()?;
        statm.split(' ').nth(1)?.parse().ok().filter(|&pages| pages > 0)
    };
    pages("").or_else(|| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        tasks.flatten().find_map(|task| pages(&format!("task/{}/", task.file_name().to_string_lossy())))
    })
}

/// The most resident bytes that a process has had since it was executed; `None` if it is gone, or its memory.
pub(crate) fn peak_resident_bytes(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Makes orphans of our descendants our children, so that they can be waited for.
pub(crate) fn adopt_orphans() {
    // SAFETY: integer arguments. Without it, only the command itself is waited for.
    let _ = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Waits until there are no children left.
pub(crate) fn wait_for_children() {
    loop {
        // SAFETY: a null pointer for a status that is not needed.
        let pid = unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) };
        if pid < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Processor time in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) all_ns: u64,
    /// The part in the kernel.
    pub(crate) system_ns: u64,
}

impl Cpu {
    /// That of all children that were waited for.
    pub(crate) fn of_children() -> Self {
        Self::of(libc::RUSAGE_CHILDREN)
    }

    /// That of this process.
    pub(crate) fn own() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            all_ns: self.all_ns.saturating_sub(before.all_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
        }
    }

    fn of(whose: libc::c_int) -> Self {
        // SAFETY: zeros are a valid structure of numbers, which the kernel fills in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(whose, &raw mut usage);
            usage
        };
        let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        Self { all_ns: ns(usage.ru_utime) + ns(usage.ru_stime), system_ns: ns(usage.ru_stime) }
    }
}

/// Processor time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    Duration::from_nanos(Cpu::of(libc::RUSAGE_THREAD).all_ns)
}

/// Does something with all signals blocked on this thread, which a thread that it starts inherits: signals are the program's.
pub(crate) fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let result = work();
    // It cannot fail: the set is one that the system has given.
    let _ = before.map(|before| before.thread_set_mask());
    result
}

/// Resident pages that follow each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) huge: bool,
}

impl PageRange {
    pub(crate) fn pages(&self, page_bytes: u64) -> u64 {
        (self.end - self.start) / page_bytes
    }
}

/// `struct pm_scan_arg` of `linux/fs.h`.
#[repr(C)]
#[derive(Debug, Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// `struct page_region` of `linux/fs.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct PageRegion {
    start: u64,
    end: u64,
    categories: u64,
}

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_PFNZERO: u64 = 1 << 5;
const PAGE_IS_HUGE: u64 = 1 << 6;
/// The end of the address space of a program on x86-64 with four levels of page tables, which is what programs get.
const ADDRESS_SPACE_END: u64 = 0x7fff_ffff_f000;

/// Reports the resident pages of the process that has this `pagemap`, in ascending order, without those of the shared
/// zero page.
pub(crate) fn scan_resident(pagemap: &File, found: &mut impl FnMut(PageRange)) -> io::Result<()> {
    let mut regions = vec![PageRegion::default(); 4096];
    let mut start = 0;
    while start < ADDRESS_SPACE_END {
        let mut arguments = ScanArguments {
            size: size_of::<ScanArguments>() as u64,
            start,
            end: ADDRESS_SPACE_END,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            category_inverted: PAGE_IS_PFNZERO,
            category_mask: PAGE_IS_PRESENT | PAGE_IS_PFNZERO,
            return_mask: PAGE_IS_PRESENT | PAGE_IS_HUGE,
            ..ScanArguments::default()
        };
        // SAFETY: the kernel reads and writes the structure, and writes at most `vec_len` regions to `vec`; both live
        // until the call returns and nothing else refers to them.
        let n = check(unsafe {
            libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN as libc::Ioctl, &raw mut arguments)
        })?;
        for region in &regions[..n as usize] {
            let huge = region.categories & PAGE_IS_HUGE != 0;
            found(PageRange { start: region.start, end: region.end, huge });
        }
        // `walk_end` is not looked at: after more than 512 regions it says where the kernel's own buffer was full last,
        // although the walk went on to the end. If there was room left for regions, there are no more.
        match regions[..n as usize].last() {
            Some(last) if n as usize == regions.len() && last.end > start => start = last.end,
            _ => break,
        }
    }
    Ok(())
}

/// The same for a range, by reading eight bytes for each of its pages: for kernels without the scan.
pub(crate) fn read_resident(
    pagemap: &File,
    range: std::ops::Range<u64>,
    page_bytes: u64,
    found: &mut impl FnMut(PageRange),
) -> io::Result<()> {
    use std::os::unix::fs::FileExt;
    /// Address space that is reserved and hardly used, as some allocators do, would take minutes to read.
    const MOST_PAGES: u64 = 16 << 20;
    const PRESENT: u64 = 1 << 63;
    let mut bytes = vec![0; 64 << 10];
    let mut page = range.start / page_bytes;
    let end = (range.end / page_bytes).min(page + MOST_PAGES);
    while page < end {
        let n = ((end - page) as usize).min(bytes.len() / 8);
        let got = pagemap.read_at(&mut bytes[..n * 8], page * 8)? / 8;
        if got == 0 {
            break;
        }
        let mut run: Option<PageRange> = None;
        for (i, entry) in bytes[..got * 8].as_chunks::<8>().0.iter().enumerate() {
            let start = (page + i as u64) * page_bytes;
            if u64::from_le_bytes(*entry) & PRESENT == 0 {
                run.take().into_iter().for_each(&mut *found);
            } else {
                run.get_or_insert(PageRange { start, end: start, huge: false }).end = start + page_bytes;
            }
        }
        run.into_iter().for_each(&mut *found);
        page += got as u64;
    }
    Ok(())
}

/// The calling thread, and those that it starts, let everything else on the machine go first from now on.
pub fn yield_to_others() {
    const LAST: libc::c_int = 19;
    // SAFETY: changes the calling thread alone. That it cannot is no harm.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LAST) };
}

/// Bytes of a page of memory.
pub fn page_bytes() -> u64 {
    // SAFETY: asks for a constant.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}
