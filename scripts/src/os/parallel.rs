// SPDX-License-Identifier: GPL-2.0-only

//! Work on many things at once, by some threads that each take the next one.

use anyhow::Result;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Does `work` on each of `all`, by `count` threads; it gets the thread's number, and the number and
/// thing it is at. What it gave, in the order of the things.
///
/// # Errors
///
/// One of those that came. Whoever has one takes nothing more.
pub fn each<'a, T: Sync, R: Send>(
    count: usize,
    all: &'a [T],
    work: impl Fn(usize, usize, &'a T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let some = |worker: usize| -> Result<Vec<(usize, R)>> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(one) = all.get(at) else {
                return Ok(done);
            };
            done.push((at, work(worker, at, one)?));
        }
    };
    let mut done = std::thread::scope(|scope| -> Result<Vec<(usize, R)>> {
        let some = &some;
        let running: Vec<_> = (0..count)
            .map(|worker| scope.spawn(move || some(worker)))
            .collect();
        let mut done = Vec::new();
        for worker in running {
            done.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(done)
    })?;
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, one)| one).collect())
}

/// As many jobs at once as the machine has CPUs, as make takes it.
pub fn jobs() -> String {
    format!(
        "-j{}",
        std::thread::available_parallelism().map_or(1, |n| n.get())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::ensure;

    #[test]
    fn each_is_done_once_and_in_order() {
        let all: Vec<usize> = (0..100).collect();
        let done = each(3, &all, |_, at, one| Ok((at, *one))).unwrap();
        assert!(done.iter().enumerate().all(|(i, pair)| *pair == (i, i)));
        assert_eq!(done.len(), 100);
        let failing = each(2, &all, |_, _, one| {
            ensure!(*one != 7, "seven");
            Ok(())
        });
        assert_eq!(failing.unwrap_err().to_string(), "seven");
    }
}
