//! Calls that may wait for a descriptor: others run meanwhile. What is read from standard input, and random numbers, are
//! recorded.

use std::ffi::{c_int, c_uint, c_void};
use std::time::Duration;

use libc::{nfds_t, pollfd, sigset_t, size_t, ssize_t, timespec, timeval};
use untorn_runtime::{Answer, AwaitedDescriptor};

use super::real;
use super::waits::outside;
use crate::abi::{cancellable, stub};
use crate::cancel;
use crate::signals::handlers;
use crate::turn::{self, Turn};

/// Descriptors of ours are out of the way of the program's.
const OUR_DESCRIPTORS: usize = 800;

/// Whether a call on the descriptor waits.
fn waits(file: c_int) -> bool {
    // SAFETY: asks for flags.
    let flags = unsafe {
        real::raw_syscall(libc::SYS_fcntl, [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0])
    };
    flags >= 0 && flags as c_int & libc::O_NONBLOCK == 0
}

/// What became of waiting for a descriptor.
enum Awaited {
    /// The call can be made. Without a turn, the C library waits.
    Ready(Option<Turn>),
    /// A signal was handled, or the thread is to be cancelled: `errno` is set.
    Interrupted,
}

/// Lets others run until something can be read there.
fn await_input(file: c_int, pc: usize) -> Awaited {
    await_descriptor(file, libc::POLLIN, pc)
}

/// Lets others run until the descriptor is ready. As a system call, it goes on after some signals.
fn await_descriptor(file: c_int, events: i16, pc: usize) -> Awaited {
    loop {
        let Some(turn) = turn::take(pc) else { return Awaited::Ready(None) };
        if !cancel::is_due() {
            if waits(file) {
                let awaited = AwaitedDescriptor { fd: file, events, limit: None };
                turn.control().await_ready((), &awaited);
            }
            if !turn.is_interrupted() {
                return Awaited::Ready(Some(turn));
            }
        }
        let goes_on = !cancel::is_due() && handlers::restart_calls();
        // Here the signal is handled.
        drop(turn);
        if !goes_on {
            // SAFETY: the address of the current thread's variable.
            unsafe { *libc::__errno_location() = libc::EINTR };
            return Awaited::Interrupted;
        }
    }
}

/// Waits for any of some descriptors. False if a signal or a cancellation ends that: `errno` is set.
fn await_any(turn: Turn, file: c_int, limit: Option<Duration>) -> bool {
    if !cancel::is_due() {
        let awaited = AwaitedDescriptor { fd: file, events: libc::POLLIN, limit };
        turn.control().await_ready((), &awaited);
    }
    let goes_on = !turn.is_interrupted();
    drop(turn);
    if !goes_on {
        // SAFETY: the address of the current thread's variable.
        unsafe { *libc::__errno_location() = libc::EINTR };
    }
    goes_on
}

/// What a call read: from the recorded run, or now.
fn recorded(
    turn: Option<&Turn>,
    to: *mut c_void,
    most: size_t,
    read: impl FnOnce() -> ssize_t,
) -> ssize_t {
    let Some(input) = turn.map(|turn| &turn.run.input) else { return read() };
    match input.read(most) {
        Some(Answer::Bytes(bytes)) => {
            // SAFETY: there is room for as many as were asked for.
            unsafe { to.cast::<u8>().copy_from(bytes.as_ptr(), bytes.len()) };
            input.keep(&Answer::Bytes(bytes.clone()));
            bytes.len() as ssize_t
        }
        Some(Answer::End) => {
            input.keep(&Answer::End);
            0
        }
        _ => {
            let count = read();
            match usize::try_from(count) {
                Ok(0) => input.keep(&Answer::End),
                Ok(count) => {
                    // SAFETY: the call has written so many bytes.
                    let bytes = unsafe { std::slice::from_raw_parts(to.cast::<u8>(), count) };
                    input.keep(&Answer::Bytes(bytes.to_vec()));
                }
                Err(_) => {}
            }
            count
        }
    }
}

extern "C" fn read_at(file: c_int, to: *mut c_void, most: size_t, pc: usize) -> ssize_t {
    // SAFETY: as the program promises, here and below.
    let real = || unsafe { real::read(file, to, most) };
    if file == libc::STDIN_FILENO
        && let Some(turn) = turn::take(pc).filter(|turn| turn.run.input.is_known())
    {
        return recorded(Some(&turn), to, most, real);
    }
    match await_input(file, pc) {
        Awaited::Interrupted => -1,
        Awaited::Ready(turn) if file == libc::STDIN_FILENO => {
            recorded(turn.as_ref(), to, most, real)
        }
        Awaited::Ready(_turn) => real(),
    }
}

extern "C" fn random_at(to: *mut c_void, most: size_t, flags: c_uint, pc: usize) -> ssize_t {
    let turn = turn::take(pc);
    recorded(turn.as_ref(), to, most, || unsafe { real::getrandom(to, most, flags) })
}

/// A call that waits for something to read, unless its flags say otherwise.
fn receive(file: c_int, flags: c_int, pc: usize, real: impl FnOnce() -> ssize_t) -> ssize_t {
    if flags & libc::MSG_DONTWAIT != 0 {
        return real();
    }
    match await_input(file, pc) {
        Awaited::Interrupted => -1,
        Awaited::Ready(_turn) => real(),
    }
}

extern "C" fn readv_at(file: c_int, to: *const c_void, count: c_int, pc: usize) -> ssize_t {
    receive(file, 0, pc, || unsafe { real::readv(file, to, count) })
}

extern "C" fn recv_at(
    file: c_int,
    to: *mut c_void,
    most: size_t,
    flags: c_int,
    pc: usize,
) -> ssize_t {
    receive(file, flags, pc, || unsafe { real::recv(file, to, most, flags) })
}

/// All registers are taken by arguments; nothing needs to know where it is called.
extern "C" fn recvfrom_at(
    file: c_int,
    to: *mut c_void,
    bytes: size_t,
    flags: c_int,
    from: *mut c_void,
    length: *mut c_uint,
) -> ssize_t {
    receive(file, flags, 0, || unsafe { real::recvfrom(file, to, bytes, flags, from, length) })
}

extern "C" fn recvmsg_at(file: c_int, message: *mut c_void, flags: c_int, pc: usize) -> ssize_t {
    receive(file, flags, pc, || unsafe { real::recvmsg(file, message, flags) })
}

extern "C" fn accept_at(file: c_int, from: *mut c_void, length: *mut c_uint, pc: usize) -> c_int {
    receive(file, 0, pc, || unsafe { real::accept(file, from, length) as ssize_t }) as c_int
}

extern "C" fn accept4_at(
    file: c_int,
    from: *mut c_void,
    length: *mut c_uint,
    flags: c_int,
    pc: usize,
) -> c_int {
    let real = || unsafe { real::accept4(file, from, length, flags) as ssize_t };
    receive(file, 0, pc, real) as c_int
}

/// What a pipe takes in one step.
const PIPE: usize = 4096;

/// Before a call that writes: it may wait until somebody has read.
fn write_out(file: c_int, bytes: usize, pc: usize, real: impl FnOnce() -> ssize_t) -> ssize_t {
    let turn = match await_descriptor(file, libc::POLLOUT, pc) {
        Awaited::Interrupted => return -1,
        Awaited::Ready(turn) => turn,
    };
    match turn {
        Some(turn) if bytes > PIPE && is_channel(file) && waits(file) => outside(Some(turn), real),
        _turn => real(),
    }
}

/// Whether it is a pipe or a socket.
fn is_channel(file: c_int) -> bool {
    // SAFETY: plain memory, which the call fills.
    unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        let place = (&raw mut found).expose_provenance();
        let result = real::raw_syscall(libc::SYS_fstat, [file as usize, place, 0, 0, 0, 0]);
        result == 0 && matches!(found.st_mode & libc::S_IFMT, libc::S_IFIFO | libc::S_IFSOCK)
    }
}

extern "C" fn write_at(file: c_int, from: *const c_void, bytes: size_t, pc: usize) -> ssize_t {
    write_out(file, bytes, pc, || unsafe { real::write(file, from, bytes) })
}

extern "C" fn send_at(
    file: c_int,
    from: *const c_void,
    bytes: size_t,
    flags: c_int,
    pc: usize,
) -> ssize_t {
    let real = || unsafe { real::send(file, from, bytes, flags) };
    if flags & libc::MSG_DONTWAIT != 0 { real() } else { write_out(file, bytes, pc, real) }
}

/// A descriptor that is ready when one of these is; `None` if there is none.
fn any_of(files: &[pollfd]) -> Option<Epoll> {
    let made = unsafe { real::raw_syscall(libc::SYS_epoll_create1, [0; 6]) };
    let low = usize::try_from(made).ok()?;
    let move_up = [low, libc::F_DUPFD_CLOEXEC as usize, OUR_DESCRIPTORS, 0, 0, 0];
    let moved = unsafe { real::raw_syscall(libc::SYS_fcntl, move_up) };
    unsafe { real::raw_syscall(libc::SYS_close, [low, 0, 0, 0, 0, 0]) };
    let epoll = Epoll(c_int::try_from(moved).ok().filter(|&file| file >= 0)?);
    for file in files.iter().filter(|file| file.fd >= 0) {
        let mut event = libc::epoll_event { events: file.events as u32, u64: 0 };
        let (add, place) = (libc::EPOLL_CTL_ADD as usize, (&raw mut event).expose_provenance());
        let arguments = [epoll.0 as usize, add, file.fd as usize, place, 0, 0];
        unsafe { real::raw_syscall(libc::SYS_epoll_ctl, arguments) };
    }
    Some(epoll)
}

/// Closed when it is dropped.
struct Epoll(c_int);

impl Drop for Epoll {
    fn drop(&mut self) {
        unsafe { real::raw_syscall(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// `None` is without a limit.
fn limit_of(millis: c_int) -> Option<Duration> {
    u64::try_from(millis).ok().map(Duration::from_millis)
}

/// Waits for descriptors without the token. `None` if the thread is not controlled, or there is none of ours to wait with;
/// `Some(false)` if a signal or a cancellation ended it.
fn await_files(files: &[pollfd], limit: Option<Duration>, pc: usize) -> Option<bool> {
    let turn = turn::take(pc)?;
    let epoll = any_of(files)?;
    Some(await_any(turn, epoll.0, limit))
}

unsafe fn slice<'a>(files: *mut pollfd, count: nfds_t) -> &'a [pollfd] {
    match count {
        0 => &[],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts(files, count as usize) },
    }
}

fn poll_until(
    files: *mut pollfd,
    count: nfds_t,
    limit: Option<Duration>,
    pc: usize,
) -> Option<c_int> {
    if limit == Some(Duration::ZERO) {
        return None;
    }
    let now = unsafe { real::poll(files, count, 0) };
    if now != 0 {
        return Some(now);
    }
    let goes_on = await_files(unsafe { slice(files, count) }, limit, pc)?;
    Some(if goes_on { unsafe { real::poll(files, count, 0) } } else { -1 })
}

extern "C" fn poll_at(files: *mut pollfd, count: nfds_t, limit: c_int, pc: usize) -> c_int {
    poll_until(files, count, limit_of(limit), pc)
        .unwrap_or_else(|| unsafe { real::poll(files, count, limit) })
}

/// A span; `None` is without a limit.
fn span_of(limit: *const timespec) -> Option<Duration> {
    let limit = unsafe { limit.as_ref() }?;
    Some(Duration::new(limit.tv_sec.max(0) as u64, limit.tv_nsec.clamp(0, 999_999_999) as u32))
}

extern "C" fn ppoll_at(
    files: *mut pollfd,
    count: nfds_t,
    limit: *const timespec,
    mask: *const sigset_t,
    pc: usize,
) -> c_int {
    with_mask(mask, || poll_until(files, count, span_of(limit), pc))
        .unwrap_or_else(|| unsafe { real::ppoll(files, count, limit, mask) })
}

/// With these signals blocked, if any are given.
fn with_mask<T>(mask: *const sigset_t, body: impl FnOnce() -> T) -> T {
    if mask.is_null() {
        return body();
    }
    unsafe {
        let mut before: sigset_t = std::mem::zeroed();
        real::pthread_sigmask(libc::SIG_SETMASK, mask, &raw mut before);
        let done = body();
        real::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        done
    }
}

fn epoll_until(
    file: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    pc: usize,
) -> Option<c_int> {
    let turn = turn::take(pc).filter(|_| limit != 0)?;
    let goes_on = await_any(turn, file, limit_of(limit));
    Some(if goes_on { unsafe { real::epoll_wait(file, events, most, 0) } } else { -1 })
}

extern "C" fn epoll_wait_at(
    file: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    pc: usize,
) -> c_int {
    epoll_until(file, events, most, limit, pc)
        .unwrap_or_else(|| unsafe { real::epoll_wait(file, events, most, limit) })
}

extern "C" fn epoll_pwait_at(
    file: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    mask: *const sigset_t,
    pc: usize,
) -> c_int {
    with_mask(mask, || epoll_until(file, events, most, limit, pc))
        .unwrap_or_else(|| unsafe { real::epoll_pwait(file, events, most, limit, mask) })
}

/// The descriptors that a call of `select` is about, with what is awaited of each.
fn in_sets(count: c_int, sets: [*mut c_void; 3]) -> Vec<pollfd> {
    let mut wanted = Vec::new();
    for (set, events) in sets.into_iter().zip([libc::POLLIN, libc::POLLOUT, libc::POLLPRI]) {
        let set = set.cast::<libc::fd_set>();
        let is_in = |file: c_int| !set.is_null() && unsafe { libc::FD_ISSET(file, set) };
        let files = (0..count).filter(|&fd| is_in(fd));
        wanted.extend(files.map(|fd| pollfd { fd, events, revents: 0 }));
    }
    wanted
}

extern "C" fn select_at(
    count: c_int,
    read: *mut c_void,
    write: *mut c_void,
    except: *mut c_void,
    limit: *mut timeval,
    pc: usize,
) -> c_int {
    let real = |limit| unsafe { real::select(count, read, write, except, limit) };
    let span = unsafe { limit.as_ref() }.map(|limit| {
        Duration::from_secs(limit.tv_sec.max(0) as u64)
            + Duration::from_micros(limit.tv_usec.max(0) as u64)
    });
    if span == Some(Duration::ZERO) {
        return real(limit);
    }
    match await_files(&in_sets(count, [read, write, except]), span, pc) {
        Some(true) => real(&mut timeval { tv_sec: 0, tv_usec: 0 }),
        Some(false) => -1,
        None => real(limit),
    }
}

/// Six registers are taken by arguments; nothing needs to know where it is called.
extern "C" fn pselect_at(
    count: c_int,
    read: *mut c_void,
    write: *mut c_void,
    except: *mut c_void,
    limit: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let real = |limit| unsafe { real::pselect(count, read, write, except, limit, mask) };
    let span = span_of(limit);
    if span == Some(Duration::ZERO) {
        return real(limit);
    }
    match with_mask(mask, || await_files(&in_sets(count, [read, write, except]), span, 0)) {
        Some(true) => real(&timespec { tv_sec: 0, tv_nsec: 0 }),
        Some(false) => -1,
        None => real(limit),
    }
}

cancellable! {
    read "rcx" => read_at;
    write "rcx" => write_at;
    send "r8" => send_at;
    readv "rcx" => readv_at;
    recv "r8" => recv_at;
    recvmsg "rcx" => recvmsg_at;
    accept "rcx" => accept_at;
    accept4 "r8" => accept4_at;
    poll "rcx" => poll_at;
    ppoll "r8" => ppoll_at;
    epoll_wait "r8" => epoll_wait_at;
    epoll_pwait "r9" => epoll_pwait_at;
    select "r9" => select_at;
}

stub! {
    getrandom "rcx" => random_at;
}

/// Functions that take six arguments.
macro_rules! without_place {
    ($($name:ident => $target:path;)*) => {$(
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!("jmp {}", sym $target)
        }
    )*};
}

without_place! {
    recvfrom => recvfrom_at;
    pselect => pselect_at;
}
