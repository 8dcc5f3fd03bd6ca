//! Where the lab keeps its files: one directory per user under the system's temporary directory.
//!
//! ```text
//! telamon-lab-UID/
//!   lock                        held for moments: while directories are made, cleaned or templates installed
//!   template-FLAVOR-VERSION/    a data directory ready to copy, made once per machine
//!   cluster-PID-N/              a cluster's servers
//!   cluster-PID-N.lock          held by the owner as long as it lives: a free lock is a dead owner
//! ```
//! Locks, not process numbers, say who lives: the kernel drops them however a process ends, and they hold across
//! containers that share a temporary directory.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::LabError;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The lab's directory of this user.
#[must_use]
pub fn lab_base() -> PathBuf {
    std::env::temp_dir().join(format!("telamon-lab-{}", rustix::process::getuid().as_raw()))
}

/// A cluster's directory; removed when dropped, or by the next start where this process was killed.
#[derive(Debug)]
pub(crate) struct LabDirectory {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl LabDirectory {
    /// Makes a new directory under `base`, and removes those whose owners have ended.
    pub(crate) fn create(base: &Path) -> Result<LabDirectory, LabError> {
        let _guard = lock_base(base)?;
        remove_stale(base);
        let name = format!("cluster-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let (path, lock_path) = (base.join(&name), base.join(format!("{name}.lock")));
        let lock = File::create(&lock_path).map_err(LabError::file("create", &lock_path))?;
        lock.lock().map_err(LabError::file("lock", &lock_path))?;
        fs::create_dir_all(&path).map_err(LabError::file("create", &path))?;
        Ok(LabDirectory { path, lock_path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LabDirectory {
    fn drop(&mut self) {
        // A server killed a moment ago may still be in the kernel's hands; what stays is the next start's to remove.
        if fs::remove_dir_all(&self.path).is_ok() {
            drop(fs::remove_file(&self.lock_path));
        }
    }
}

/// Takes the lock that orders all changes in `base`, waiting for it.
fn lock_base(base: &Path) -> Result<File, LabError> {
    fs::create_dir_all(base).map_err(LabError::file("create", base))?;
    let path = base.join("lock");
    let lock = File::create(&path).map_err(LabError::file("create", &path))?;
    lock.lock().map_err(LabError::file("lock", &path))?;
    Ok(lock)
}

/// Removes clusters whose owner has ended and templates left half made. The base lock must be held.
fn remove_stale(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if name.starts_with("partial-") {
            drop(fs::remove_dir_all(&path));
        } else if name.starts_with("cluster-") && name.ends_with(".lock") && owner_has_ended(&path) {
            let directory = path.with_extension("");
            if !directory.exists() || fs::remove_dir_all(&directory).is_ok() {
                drop(fs::remove_file(&path));
            }
        }
    }
}

fn owner_has_ended(lock_path: &Path) -> bool {
    let Ok(lock) = File::open(lock_path) else { return false };
    !matches!(lock.try_lock(), Err(TryLockError::WouldBlock | TryLockError::Error(_)))
}

/// A template that is ready, or the right to make it.
pub(crate) enum Template {
    /// A whole data directory, ready to copy.
    Ready(PathBuf),
    /// It has to be made first.
    Missing(TemplateInTheMaking),
}

/// The right to make a template: others wait for it until this is finished or dropped.
pub(crate) struct TemplateInTheMaking {
    /// The directory to fill.
    pub(crate) partial: PathBuf,
    finished: PathBuf,
    _guard: File,
}

impl TemplateInTheMaking {
    /// Makes what was filled in the template: by rename, so that it appears whole.
    pub(crate) fn finish(self) -> Result<PathBuf, LabError> {
        fs::rename(&self.partial, &self.finished).map_err(LabError::file("rename to", &self.finished))?;
        Ok(self.finished)
    }
}

/// Looks for the template of this name; waits where another process is making one.
pub(crate) fn template(base: &Path, name: &str) -> Result<Template, LabError> {
    let finished = base.join(format!("template-{name}"));
    if finished.is_dir() {
        return Ok(Template::Ready(finished));
    }
    let guard = lock_base(base)?;
    if finished.is_dir() {
        return Ok(Template::Ready(finished));
    }
    let partial = base.join(format!("partial-{name}"));
    drop(fs::remove_dir_all(&partial));
    fs::create_dir_all(&partial).map_err(LabError::file("create", &partial))?;
    Ok(Template::Missing(TemplateInTheMaking { partial, finished, _guard: guard }))
}

/// Copies a directory tree of regular files.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_directory_is_removed_when_dropped() {
        let base = tempfile::tempdir().unwrap();
        let directory = LabDirectory::create(base.path()).unwrap();
        let path = directory.path().to_owned();
        fs::write(path.join("file"), "x").unwrap();
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn the_directory_of_an_ended_owner_is_removed_at_the_next_start_and_a_living_one_is_kept() {
        let base = tempfile::tempdir().unwrap();
        let living = LabDirectory::create(base.path()).unwrap();
        let dead = base.path().join("cluster-1-1");
        fs::create_dir(&dead).unwrap();
        fs::write(base.path().join("cluster-1-1.lock"), "").unwrap();
        let next = LabDirectory::create(base.path()).unwrap();
        assert!(!dead.exists());
        assert!(living.path().exists() && next.path().exists());
    }

    #[test]
    fn a_template_is_made_once_and_an_unfinished_one_is_made_anew() {
        let base = tempfile::tempdir().unwrap();
        let Template::Missing(first) = template(base.path(), "a").unwrap() else { panic!("none is there") };
        fs::write(first.partial.join("half"), "x").unwrap();
        drop(first);
        let Template::Missing(second) = template(base.path(), "a").unwrap() else { panic!("not finished") };
        assert!(!second.partial.join("half").exists());
        let made = second.finish().unwrap();
        let Template::Ready(found) = template(base.path(), "a").unwrap() else { panic!("it was finished") };
        assert_eq!(made, found);
    }
}
