//! Functions that are system calls which may wait. Dispatch would catch them too, but so they
//! cost no signal, and stacks show who called them.

use super::object::interpose;
use crate::arch::nr;
use crate::syscalls::{as_errno, call};

fn called(number: usize, arguments: [usize; 6]) -> isize {
    as_errno(call(number, arguments))
}

interpose! {
    /// libc's `read`.
    read(descriptor: i32, buffer: usize, bytes: usize) -> isize =>
        called(nr::READ, [descriptor as usize, buffer, bytes, 0, 0, 0]);
    /// libc's `readv`.
    readv(descriptor: i32, vector: usize, count: i32) -> isize =>
        called(nr::READV, [descriptor as usize, vector, count as usize, 0, 0, 0]);
    /// libc's `recv`.
    recv(descriptor: i32, buffer: usize, bytes: usize, flags: i32) -> isize =>
        called(nr::RECVFROM, [descriptor as usize, buffer, bytes, flags as usize, 0, 0]);
    /// libc's `recvfrom`.
    recvfrom(descriptor: i32, buffer: usize, bytes: usize, flags: i32, from: usize, size: usize) -> isize =>
        called(nr::RECVFROM, [descriptor as usize, buffer, bytes, flags as usize, from, size]);
    /// libc's `recvmsg`.
    recvmsg(descriptor: i32, message: usize, flags: i32) -> isize =>
        called(nr::RECVMSG, [descriptor as usize, message, flags as usize, 0, 0, 0]);
    /// libc's `send`.
    send(descriptor: i32, buffer: usize, bytes: usize, flags: i32) -> isize =>
        called(nr::SENDTO, [descriptor as usize, buffer, bytes, flags as usize, 0, 0]);
    /// libc's `sendto`.
    sendto(descriptor: i32, buffer: usize, bytes: usize, flags: i32, to: usize, size: u32) -> isize =>
        called(nr::SENDTO, [descriptor as usize, buffer, bytes, flags as usize, to, size as usize]);
    /// libc's `sendmsg`.
    sendmsg(descriptor: i32, message: usize, flags: i32) -> isize =>
        called(nr::SENDMSG, [descriptor as usize, message, flags as usize, 0, 0, 0]);
    /// libc's `accept`.
    accept(descriptor: i32, address: usize, size: usize) -> i32 =>
        called(nr::ACCEPT, [descriptor as usize, address, size, 0, 0, 0]) as i32;
    /// libc's `accept4`.
    accept4(descriptor: i32, address: usize, size: usize, flags: i32) -> i32 =>
        called(nr::ACCEPT4, [descriptor as usize, address, size, flags as usize, 0, 0]) as i32;
    /// libc's `connect`.
    connect(descriptor: i32, address: usize, size: u32) -> i32 =>
        called(nr::CONNECT, [descriptor as usize, address, size as usize, 0, 0, 0]) as i32;
    /// libc's `close`.
    close(descriptor: i32) -> i32 => called(nr::CLOSE, [descriptor as usize, 0, 0, 0, 0, 0]) as i32;
    /// libc's `poll`.
    poll(polls: usize, count: usize, milliseconds: i32) -> i32 =>
        called(nr::POLL, [polls, count, milliseconds as usize, 0, 0, 0]) as i32;
    /// libc's `ppoll`.
    ppoll(polls: usize, count: usize, time: usize, mask: usize) -> i32 =>
        called(nr::PPOLL, [polls, count, time, mask, 8, 0]) as i32;
    /// libc's `select`.
    select(count: i32, reads: usize, writes: usize, errors: usize, time: usize) -> i32 =>
        called(nr::SELECT, [count as usize, reads, writes, errors, time, 0]) as i32;
    /// libc's `epoll_wait`.
    epoll_wait(descriptor: i32, events: usize, most: i32, milliseconds: i32) -> i32 =>
        called(nr::EPOLL_WAIT, [descriptor as usize, events, most as usize, milliseconds as usize, 0, 0]) as i32;
    /// libc's `epoll_pwait`.
    epoll_pwait(descriptor: i32, events: usize, most: i32, milliseconds: i32, mask: usize) -> i32 =>
        called(nr::EPOLL_PWAIT, [descriptor as usize, events, most as usize, milliseconds as usize, mask, 8]) as i32;
    /// libc's `wait`.
    wait(status: usize) -> i32 => called(nr::WAIT4, [usize::MAX, status, 0, 0, 0, 0]) as i32;
    /// libc's `waitpid`.
    waitpid(process: i32, status: usize, options: i32) -> i32 =>
        called(nr::WAIT4, [process as usize, status, options as usize, 0, 0, 0]) as i32;
    /// libc's `flock`.
    flock(descriptor: i32, operation: i32) -> i32 =>
        called(nr::FLOCK, [descriptor as usize, operation as usize, 0, 0, 0, 0]) as i32;
}
