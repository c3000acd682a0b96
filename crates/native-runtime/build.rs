//! Gives the library a name of its own, so that executables need it by name and not by the place it was built at.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libuntorn_native_runtime.so");
    // It stays in memory: its threads run in it.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
