//! Waiting for what happens in another process.

use std::thread;
use std::time::{Duration, Instant};

/// Asks again and again until there is an answer.
///
/// # Panics
/// There is none within `limit`; the text names `what` was waited for.
pub fn wait_for<T>(what: &str, limit: Duration, mut answer: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs `action` and answers what it answers.
///
/// # Panics
/// It took longer than `limit`.
pub fn within<T>(what: &str, limit: Duration, action: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = action();
    let took = start.elapsed();
    assert!(took < limit, "{what}: took {took:?}, more than {limit:?}");
    answer
}
