//! The functions of the C library themselves, which those of ours stand in front of.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use libc::{
    clockid_t, nfds_t, off_t, pid_t, pollfd, pthread_attr_t, pthread_cond_t, pthread_key_t,
    pthread_mutex_t, pthread_mutexattr_t, pthread_rwlock_t, pthread_t, siginfo_t, sigset_t, size_t,
    ssize_t, timespec, timeval,
};

/// Opaque here.
pub(crate) type Semaphore = libc::sem_t;
pub(crate) type Barrier = libc::pthread_barrier_t;
pub(crate) type Once = c_int;

/// The next definition of a symbol behind ours. Conditions have two versions, of which programs use the second.
#[cold]
fn find(name: &CStr, version: Option<&CStr>) -> usize {
    // SAFETY: names end with a zero. A symbol that does not exist is null, which is never called: programs call what
    // the system has.
    let found = unsafe {
        match version {
            Some(version) => libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr()),
            None => libc::dlsym(libc::RTLD_NEXT, name.as_ptr()),
        }
    };
    found.addr()
}

/// Where a function of the C library is.
pub(crate) fn address_of(name: &CStr) -> usize {
    find(name, None)
}

#[inline]
fn address(cell: &AtomicUsize, name: &CStr, version: Option<&CStr>) -> usize {
    match cell.load(Relaxed) {
        0 => {
            let found = find(name, version);
            cell.store(found, Relaxed);
            found
        }
        found => found,
    }
}

macro_rules! version {
    () => {
        None
    };
    ($version:literal) => {
        Some($version)
    };
}

macro_rules! real {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $(= $version:literal)?;)*) => {$(
        /// # Safety
        /// That of the function of the C library with this name.
        #[allow(non_snake_case, reason = "C++ has names as the linker knows them")]
        pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
            static CELL: AtomicUsize = AtomicUsize::new(0);
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            let found = address(&CELL, NAME, version!($($version)?));
            if found == 0 {
                missing();
            }
            type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
            // SAFETY: the symbol with this name is a function of this type.
            unsafe { std::mem::transmute::<usize, Function>(found)($($argument),*) }
        }
    )*};
}

/// A program called a function that the C library of this system does not have: it could not have been loaded.
#[cold]
fn missing() -> ! {
    std::process::abort()
}

type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

real! {
    fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, argument: *mut c_void) -> c_int;
    fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    fn pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t) -> c_int;
    fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int;
    fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
    fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
    fn pthread_rwlock_unlock(lock: *mut pthread_rwlock_t) -> c_int;
    fn pthread_spin_lock(lock: *mut c_int) -> c_int;
    fn pthread_spin_trylock(lock: *mut c_int) -> c_int;
    fn pthread_spin_unlock(lock: *mut c_int) -> c_int;
    fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int = c"GLIBC_2.3.2";
    fn pthread_cond_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int = c"GLIBC_2.3.2";
    fn pthread_cond_clockwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_cond_signal(condition: *mut pthread_cond_t) -> c_int = c"GLIBC_2.3.2";
    fn pthread_cond_broadcast(condition: *mut pthread_cond_t) -> c_int = c"GLIBC_2.3.2";
    fn pthread_barrier_init(barrier: *mut Barrier, attributes: *const c_void, count: c_uint) -> c_int;
    fn pthread_barrier_wait(barrier: *mut Barrier) -> c_int;
    fn pthread_once(once: *mut Once, routine: extern "C" fn()) -> c_int;
    fn pthread_key_create(key: *mut pthread_key_t, destructor: Option<extern "C" fn(*mut c_void)>) -> c_int;
    fn pthread_cancel(thread: pthread_t) -> c_int;
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_setcanceltype(kind: c_int, before: *mut c_int) -> c_int;
    fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
    fn kill(process: pid_t, signal: c_int) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
    fn pthread_sigmask(how: c_int, new: *const sigset_t, old: *mut sigset_t) -> c_int;
    fn sem_wait(semaphore: *mut Semaphore) -> c_int;
    fn sem_trywait(semaphore: *mut Semaphore) -> c_int;
    fn sem_timedwait(semaphore: *mut Semaphore, until: *const timespec) -> c_int;
    fn sem_clockwait(semaphore: *mut Semaphore, clock: clockid_t, until: *const timespec) -> c_int;
    fn sem_post(semaphore: *mut Semaphore) -> c_int;
    fn __cxa_guard_acquire(guard: *mut u64) -> c_int;
    fn __cxa_guard_release(guard: *mut u64);
    fn __cxa_guard_abort(guard: *mut u64);
    fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(left: bool, node: *mut c_void, parent: *mut c_void, header: *mut c_void) -> ();
    fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node: *mut c_void, header: *mut c_void) -> *mut c_void;
    fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(node: *mut c_void, position: *mut c_void) -> ();
    fn _ZNSt8__detail15_List_node_base9_M_unhookEv(node: *mut c_void) -> ();
    fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(node: *mut c_void, first: *mut c_void, last: *mut c_void) -> ();
    fn mmap(at: *mut c_void, bytes: size_t, access: c_int, flags: c_int, file: c_int, offset: off_t) -> *mut c_void;
    fn munmap(at: *mut c_void, bytes: size_t) -> c_int;
    fn mremap(at: *mut c_void, old: size_t, new: size_t, flags: c_int, to: *mut c_void) -> *mut c_void;
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    fn read(file: c_int, to: *mut c_void, bytes: size_t) -> ssize_t;
    fn write(file: c_int, from: *const c_void, bytes: size_t) -> ssize_t;
    fn send(file: c_int, from: *const c_void, bytes: size_t, flags: c_int) -> ssize_t;
    fn recv(file: c_int, to: *mut c_void, bytes: size_t, flags: c_int) -> ssize_t;
    fn recvfrom(file: c_int, to: *mut c_void, bytes: size_t, flags: c_int, from: *mut c_void, length: *mut c_uint) -> ssize_t;
    fn recvmsg(file: c_int, message: *mut c_void, flags: c_int) -> ssize_t;
    fn accept(file: c_int, from: *mut c_void, length: *mut c_uint) -> c_int;
    fn accept4(file: c_int, from: *mut c_void, length: *mut c_uint, flags: c_int) -> c_int;
    fn poll(files: *mut pollfd, count: nfds_t, limit: c_int) -> c_int;
    fn select(count: c_int, read: *mut c_void, write: *mut c_void, except: *mut c_void, limit: *mut timeval) -> c_int;
    fn epoll_wait(file: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int;
    fn waitpid(process: pid_t, status: *mut c_int, options: c_int) -> pid_t;
    fn wait4(process: pid_t, status: *mut c_int, options: c_int, usage: *mut c_void) -> pid_t;
    fn waitid(kind: c_uint, id: c_uint, information: *mut siginfo_t, options: c_int) -> c_int;
    fn sigwait(signals: *const sigset_t, signal: *mut c_int) -> c_int;
    fn sigwaitinfo(signals: *const sigset_t, information: *mut siginfo_t) -> c_int;
    fn sigtimedwait(signals: *const sigset_t, information: *mut siginfo_t, limit: *const timespec) -> c_int;
    fn sigsuspend(signals: *const sigset_t) -> c_int;
    fn pause() -> c_int;
    fn readv(file: c_int, to: *const c_void, count: c_int) -> ssize_t;
    fn ppoll(files: *mut pollfd, count: nfds_t, limit: *const timespec, mask: *const sigset_t) -> c_int;
    fn pselect(count: c_int, read: *mut c_void, write: *mut c_void, except: *mut c_void, limit: *const timespec, mask: *const sigset_t) -> c_int;
    fn epoll_pwait(file: c_int, events: *mut c_void, most: c_int, limit: c_int, mask: *const sigset_t) -> c_int;
    fn getrandom(to: *mut c_void, bytes: size_t, flags: c_uint) -> ssize_t;
    fn clock_gettime(clock: clockid_t, now: *mut timespec) -> c_int;
    fn gettimeofday(now: *mut timeval, zone: *mut c_void) -> c_int;
    fn time(now: *mut libc::time_t) -> libc::time_t;
    fn nanosleep(span: *const timespec, rest: *mut timespec) -> c_int;
    fn clock_nanosleep(clock: clockid_t, flags: c_int, span: *const timespec, rest: *mut timespec) -> c_int;
    fn sleep(seconds: c_uint) -> c_uint;
    fn usleep(micros: c_uint) -> c_int;
    fn sched_yield() -> c_int;
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn _exit(code: c_int) -> ();
}

/// A call of the system that passes by everything. Returns what the kernel does: errors are negative.
pub(crate) unsafe fn raw_syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: as the caller promises of this call.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

// The allocator of the C library by its own names, because finding it by name allocates.
unsafe extern "C" {
    pub(crate) fn __libc_malloc(bytes: size_t) -> *mut c_void;
    pub(crate) fn __libc_calloc(count: size_t, bytes: size_t) -> *mut c_void;
    pub(crate) fn __libc_realloc(memory: *mut c_void, bytes: size_t) -> *mut c_void;
    pub(crate) fn __libc_memalign(alignment: size_t, bytes: size_t) -> *mut c_void;
    pub(crate) fn __libc_free(memory: *mut c_void);
}
