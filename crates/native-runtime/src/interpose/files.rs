//! Calls that may wait for a descriptor: others run meanwhile. What is read from standard input, and random numbers, are
//! recorded.

use std::ffi::{c_int, c_uint, c_void};
use std::time::Duration;

use libc::{nfds_t, pid_t, pollfd, size_t, ssize_t, timeval};
use untorn_runtime::{Answer, AwaitedDescriptor};

use super::real;
use crate::abi::stub;
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

/// Lets others run until something can be read there.
fn await_input(turn: &Turn, file: c_int) {
    if waits(file) {
        await_descriptor(turn, file, None);
    }
}

fn await_descriptor(turn: &Turn, file: c_int, limit: Option<Duration>) {
    let awaited = AwaitedDescriptor { fd: file, events: libc::POLLIN, limit };
    turn.control().await_ready((), &awaited);
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
    let turn = turn::take(pc);
    // SAFETY: as the program promises, here and below.
    let real = || unsafe { real::read(file, to, most) };
    if file == libc::STDIN_FILENO {
        if let Some(turn) = turn.as_ref().filter(|turn| !turn.run.input.is_known()) {
            await_input(turn, file);
        }
        return recorded(turn.as_ref(), to, most, real);
    }
    if let Some(turn) = &turn {
        await_input(turn, file);
    }
    real()
}

extern "C" fn random_at(to: *mut c_void, most: size_t, flags: c_uint, pc: usize) -> ssize_t {
    let turn = turn::take(pc);
    recorded(turn.as_ref(), to, most, || unsafe { real::getrandom(to, most, flags) })
}

extern "C" fn recv_at(
    file: c_int,
    to: *mut c_void,
    most: size_t,
    flags: c_int,
    pc: usize,
) -> ssize_t {
    if let Some(turn) = turn::take(pc).filter(|_| flags & libc::MSG_DONTWAIT == 0) {
        await_input(&turn, file);
    }
    unsafe { real::recv(file, to, most, flags) }
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
    if let Some(turn) = turn::take(0).filter(|_| flags & libc::MSG_DONTWAIT == 0) {
        await_input(&turn, file);
    }
    unsafe { real::recvfrom(file, to, bytes, flags, from, length) }
}

extern "C" fn recvmsg_at(file: c_int, message: *mut c_void, flags: c_int, pc: usize) -> ssize_t {
    if let Some(turn) = turn::take(pc).filter(|_| flags & libc::MSG_DONTWAIT == 0) {
        await_input(&turn, file);
    }
    unsafe { real::recvmsg(file, message, flags) }
}

extern "C" fn accept_at(file: c_int, from: *mut c_void, length: *mut c_uint, pc: usize) -> c_int {
    if let Some(turn) = turn::take(pc) {
        await_input(&turn, file);
    }
    unsafe { real::accept(file, from, length) }
}

extern "C" fn accept4_at(
    file: c_int,
    from: *mut c_void,
    length: *mut c_uint,
    flags: c_int,
    pc: usize,
) -> c_int {
    if let Some(turn) = turn::take(pc) {
        await_input(&turn, file);
    }
    unsafe { real::accept4(file, from, length, flags) }
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

extern "C" fn poll_at(files: *mut pollfd, count: nfds_t, limit: c_int, pc: usize) -> c_int {
    let Some(turn) = turn::take(pc).filter(|_| limit != 0) else {
        return unsafe { real::poll(files, count, limit) };
    };
    let now = unsafe { real::poll(files, count, 0) };
    if now != 0 {
        return now;
    }
    let all = match count {
        0 => &[][..],
        _ => unsafe { std::slice::from_raw_parts(files, count as usize) },
    };
    if let Some(epoll) = any_of(all) {
        await_descriptor(&turn, epoll.0, limit_of(limit));
        return unsafe { real::poll(files, count, 0) };
    }
    unsafe { real::poll(files, count, limit) }
}

extern "C" fn epoll_wait_at(
    file: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    pc: usize,
) -> c_int {
    if let Some(turn) = turn::take(pc).filter(|_| limit != 0) {
        await_descriptor(&turn, file, limit_of(limit));
        return unsafe { real::epoll_wait(file, events, most, 0) };
    }
    unsafe { real::epoll_wait(file, events, most, limit) }
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
    let turn = turn::take(pc).filter(|_| span != Some(Duration::ZERO));
    let Some(turn) = turn else { return real(limit) };
    let mut wanted = Vec::new();
    for (set, events) in [(read, libc::POLLIN), (write, libc::POLLOUT), (except, libc::POLLPRI)] {
        let set = set.cast::<libc::fd_set>();
        let is_in = |file: c_int| !set.is_null() && unsafe { libc::FD_ISSET(file, set) };
        wanted.extend((0..count).filter(|&fd| is_in(fd)).map(|fd| pollfd {
            fd,
            events,
            revents: 0,
        }));
    }
    if let Some(epoll) = any_of(&wanted) {
        await_descriptor(&turn, epoll.0, span);
        return real(&mut timeval { tv_sec: 0, tv_usec: 0 });
    }
    real(limit)
}

extern "C" fn wait_for_child(
    process: pid_t,
    status: *mut c_int,
    options: c_int,
    pc: usize,
) -> pid_t {
    let real = |options| unsafe { real::waitpid(process, status, options) };
    let turn = turn::take(pc).filter(|_| options & libc::WNOHANG == 0);
    let Some(turn) = turn else { return real(options) };
    let now = real(options | libc::WNOHANG);
    if now != 0 {
        return now;
    }
    turn.control().leave_outside(());
    let ended = real(options);
    turn.control().come_back(());
    ended
}

extern "C" fn wait_for_any_child(status: *mut c_int, pc: usize) -> pid_t {
    wait_for_child(-1, status, 0, pc)
}

stub! {
    read "rcx" => read_at;
    getrandom "rcx" => random_at;
    recv "r8" => recv_at;
    recvmsg "rcx" => recvmsg_at;
    accept "rcx" => accept_at;
    accept4 "r8" => accept4_at;
    poll "rcx" => poll_at;
    epoll_wait "r8" => epoll_wait_at;
    select "r9" => select_at;
    waitpid "rcx" => wait_for_child;
    wait "rsi" => wait_for_any_child;
}

#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn recvfrom() {
    core::arch::naked_asm!("jmp {}", sym recvfrom_at)
}
