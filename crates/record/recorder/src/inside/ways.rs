//! How the jump in front of each function goes on, to what is to be done there.

use super::{calls, go, heaps, loaded, process, sample};
use crate::arch::jump::Way;
use crate::loadable;
use crate::process::PROCESS;
use heapwise_trace::live::hooks::{Arguments, Hook, HookKind};

crate::shim_of_six!(resize_in_place_shim => calls::resize_in_place);
crate::shim_of_six!(many_shim => calls::many);
crate::shim_of_six!(destroy_heap_shim => heaps::destroy);
crate::shim_of_six!(thread_create_shim => process::thread_create);
crate::shim_of_six!(thread_join_shim => process::thread_join);
crate::shim_of_six!(thread_name_shim => process::thread_name);
crate::shim_of_six!(prctl_shim => process::prctl);
crate::shim_before!(exit_shim => process::exit);
crate::shim_before!(system_call_shim => process::system_call);
crate::shim_before!(execve_shim => loadable::before_execve);
crate::shim_before!(execveat_shim => loadable::before_execveat);
crate::shim_before!(loader_changed_shim => loaded::changed);
crate::shim_before!(fexecve_shim => loadable::before_fexecve);

crate::keeping_shim_of_three!(keeping_allocate_shim => calls::allocate, "");
crate::keeping_shim_of_three!(keeping_posix_memalign_shim => calls::posix_memalign, "");
crate::keeping_shim_of_three!(keeping_free_shim => calls::free, "mov rax, qword ptr [rsp + 312]");
crate::keeping_shim_of_three!(keeping_resize_shim => calls::resize, "");

/// How the stub of a function goes on; `None` for one that is not entered, but called. Callers of some rely on their registers.
pub(super) fn way(hook: &Hook) -> Option<Way> {
    let (kind, keeps_registers) = (hook.kind, hook.keeps_registers);
    let shim = |shim: unsafe extern "C" fn()| Way::Shim(shim as usize);
    let keeping = |shim: unsafe extern "C" fn()| Way::Keeping(shim as usize);
    Some(match kind {
        HookKind::Exit => shim(exit_shim),
        HookKind::Execve => shim(execve_shim),
        HookKind::Execveat => shim(execveat_shim),
        HookKind::Fexecve => shim(fexecve_shim),
        HookKind::Prctl => shim(prctl_shim),
        HookKind::SystemCall => shim(system_call_shim),
        HookKind::GoSystemCall => Way::Shim(go::system_call()),
        HookKind::GoSystemCallOnStack => Way::Shim(go::system_call_on_stack()),
        HookKind::LoaderChanged => shim(loader_changed_shim),
        HookKind::Nallocx | HookKind::VisitBlocks => return None,
        HookKind::DestroyHeap => shim(destroy_heap_shim),
        HookKind::ThreadCreate => shim(thread_create_shim),
        HookKind::ThreadJoin => shim(thread_join_shim),
        HookKind::ThreadName => shim(thread_name_shim),
        HookKind::Xallocx | HookKind::PrepareResize => shim(resize_in_place_shim),
        HookKind::ResizeFrom | HookKind::RpalignedRealloc | HookKind::Duplicate => shim(many_shim),
        _ if kind.is_of_blocks() && hook.arguments != Arguments::Few => shim(many_shim),
        HookKind::Internal => Way::Direct(calls::internal as *const () as usize),
        HookKind::PosixMemalign if keeps_registers => keeping(keeping_posix_memalign_shim),
        HookKind::PosixMemalign => Way::Direct(calls::posix_memalign as *const () as usize),
        HookKind::Free if keeps_registers => keeping(keeping_free_shim),
        HookKind::Free if hook.may_pass_on => Way::Direct(calls::free as *const () as usize),
        HookKind::Free => {
            let hook = calls::free_plain as *const () as usize;
            match PROCESS.sampled().classes().filter(|_| PROCESS.is_sampling()) {
                Some(classes) => Way::OfSample { classes: core::ptr::from_ref(classes) as usize, hook },
                None => Way::Direct(hook),
            }
        }
        HookKind::Resize | HookKind::ResizeArray if keeps_registers => keeping(keeping_resize_shim),
        HookKind::Resize if PROCESS.is_sampling() && !hook.may_pass_on => {
            Way::Direct(sample::resize as *const () as usize)
        }
        HookKind::Resize | HookKind::ResizeArray | HookKind::ResizeAligned | HookKind::Rallocx => {
            Way::Direct(calls::resize as *const () as usize)
        }
        _ if keeps_registers => keeping(keeping_allocate_shim),
        _ if hook.may_pass_on => Way::Direct(calls::allocate as *const () as usize),
        HookKind::Allocate if PROCESS.is_sampling() => Way::Direct(sample::allocate as *const () as usize),
        HookKind::Allocate => Way::Direct(calls::allocate_plain as *const () as usize),
        HookKind::AllocateAligned if PROCESS.is_sampling() => {
            Way::Direct(sample::allocate_aligned as *const () as usize)
        }
        HookKind::AllocateAligned => Way::Direct(calls::allocate_aligned_plain as *const () as usize),
        _ => Way::Direct(calls::allocate as *const () as usize),
    })
}
