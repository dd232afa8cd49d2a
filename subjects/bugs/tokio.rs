//! tokio#3660: a permit that `notify_one` leaves is lost if `notify_waiters` runs meanwhile.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use tokio::sync::Notify;

#[test]
pub fn a_permit_stays_until_it_is_taken() {
    let notify = Notify::new();
    thread::scope(|scope| {
        scope.spawn(|| notify.notify_one());
        scope.spawn(|| notify.notify_waiters());
    });
    let mut context = Context::from_waker(Waker::noop());
    let permit = pin!(notify.notified()).poll(&mut context);
    assert_eq!(permit, Poll::Ready(()));
}
