//! The functions that instrumented code calls: the interface of ThreadSanitizer's runtime, as gcc and clang use it.
//!
//! Each is a stub of two instructions, which passes its return address on as a further argument.

mod access;
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

pub(crate) use stub;
