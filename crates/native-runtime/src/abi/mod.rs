//! The functions that instrumented code calls: the interface of ThreadSanitizer's runtime, as gcc and clang use it.
//!
//! Each is a stub of two instructions, which passes its return address on as a further argument.

mod access;
mod annotations;
mod atomic;
mod functions;
mod memory;

/// A function of the C interface that also gets its return address, in the register behind its last argument.
macro_rules! stub {
    ($($name:ident $register:literal => $target:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {}",
                sym $target,
            )
        }
    )*};
}

/// The same for a function at which a thread can be cancelled. Unwinding passes through the stub, so it describes its
/// frame.
macro_rules! cancellable {
    ($($name:ident $register:literal => $target:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "sub rsp, 8",
                ".cfi_adjust_cfa_offset 8",
                "call {}",
                "mov qword ptr [rsp], rax",
                "call {}",
                "test al, al",
                "jz 2f",
                "call qword ptr [rip + {}]",
                "2:",
                "mov rax, qword ptr [rsp]",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                sym $target,
                sym $crate::cancel::ends_now,
                sym $crate::cancel::TEST,
            )
        }
    )*};
}

pub(crate) use {cancellable, stub};
