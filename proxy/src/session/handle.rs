//! What others may see of a session and ask of it, within its worker.

use super::kill::Running;
use std::cell::{Cell, RefCell};
use std::task::{Context, Poll, Waker};

/// What a session is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// End as soon as no statement runs and no transaction is open.
    Drain,
    /// Stop waiting for a connection, if that is what the session does: its statement is killed.
    Interrupt,
    /// End now.
    Kill,
}

/// One session, as others of its worker see it.
#[derive(Debug)]
pub struct Handle {
    id: u32,
    user: RefCell<Vec<u8>>,
    running: Cell<Option<Running>>,
    /// Whether a statement waits for a connection.
    waiting: Cell<bool>,
    /// How many others are about to kill what runs on its connections.
    held: Cell<u32>,
    signal: Cell<Option<Signal>>,
    waker: RefCell<Option<Waker>>,
}

impl Handle {
    /// A new session's handle.
    pub fn new(id: u32) -> Self {
        let (user, waker) = (RefCell::default(), RefCell::default());
        let (waiting, held) = (Cell::new(false), Cell::new(0));
        Self { id, user, running: Cell::new(None), waiting, held, signal: Cell::new(None), waker }
    }

    /// The number that the greeting, CONNECTION_ID() and KILL mean.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whose session it is; empty until it is logged in.
    pub fn is_of(&self, user: &[u8]) -> bool {
        *self.user.borrow() == user
    }

    pub(super) fn set_user(&self, user: &[u8]) {
        *self.user.borrow_mut() = user.to_vec();
    }

    /// The backend connection that runs a statement for it now.
    pub fn running(&self) -> Option<Running> {
        self.running.get()
    }

    pub(super) fn set_running(&self, running: Option<Running>) {
        self.running.set(running);
    }

    /// Whether a statement of it waits for a connection.
    pub fn is_waiting(&self) -> bool {
        self.waiting.get()
    }

    pub(super) fn set_waiting(&self, waiting: bool) {
        self.waiting.set(waiting);
    }

    /// Somebody is about to kill what runs on the session's connection: that stays the session's until
    /// [`Self::let_go`], so that the kill hits nobody else.
    pub fn hold(&self) {
        self.held.set(self.held.get() + 1);
    }

    /// The kill is done.
    pub fn let_go(&self) {
        self.held.set(self.held.get().saturating_sub(1));
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.get() > 0
    }

    /// Asks the session to do something. A kill is never taken back, and a drain not by an interrupt.
    pub fn send(&self, signal: Signal) {
        match (self.signal.get(), signal) {
            (Some(Signal::Kill), _) | (Some(Signal::Drain), Signal::Interrupt) => {}
            _ => self.signal.set(Some(signal)),
        }
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// The interrupt has been heeded, or came too late.
    pub(super) fn forget_interrupt(&self) {
        if self.signal.get() == Some(Signal::Interrupt) {
            self.signal.set(None);
        }
    }

    /// Ready when the session is asked to do what `wanted` accepts.
    pub(super) fn poll_signal(&self, cx: &mut Context<'_>, wanted: impl Fn(Signal) -> bool) -> Poll<Signal> {
        match self.signal.get() {
            Some(signal) if wanted(signal) => return Poll::Ready(signal),
            _ => {}
        }
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_is_seen_at_once_and_a_later_drain_does_not_hide_it() {
        let handle = Handle::new(7);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(handle.poll_signal(&mut cx, |_| true), Poll::Pending);
        handle.send(Signal::Kill);
        handle.send(Signal::Drain);
        assert_eq!(handle.poll_signal(&mut cx, |_| true), Poll::Ready(Signal::Kill));
        assert_eq!(handle.poll_signal(&mut cx, |s| s == Signal::Drain), Poll::Pending);
    }
}
