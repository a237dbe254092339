// SPDX-License-Identifier: GPL-2.0-only

//! Where commands run: inside the toolchain root, or on the machine itself.
//!
//! A confined command gets namespaces of its own for mounts and processes. So nothing stays mounted
//! and no process stays behind, however it or we are ended.

use anyhow::{ensure, Context, Result};
use nix::libc;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{Error, Result as IoResult};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::null;

use crate::os::signals;

/// A place for commands.
#[derive(Clone)]
pub struct Root {
    /// The folder that commands see as `/`; the machine's own if there is none.
    dir: Option<PathBuf>,
    /// Folders of the machine that are seen at the same path inside.
    shared: Vec<PathBuf>,
    /// Device nodes beyond the usual ones.
    devices: Vec<&'static str>,
}

/// One thing to set up in the child. Prepared before the fork, where allocating is allowed.
enum Setup {
    Mount {
        source: CString,
        target: CString,
        kind: Option<CString>,
        flags: libc::c_ulong,
        data: Option<CString>,
    },
    Dir(CString),
    Node(CString),
    Link(CString, CString),
}

impl Root {
    /// The machine itself, with its own tools.
    pub fn machine() -> Root {
        Root {
            dir: None,
            shared: Vec::new(),
            devices: Vec::new(),
        }
    }

    pub fn at(dir: PathBuf, shared: &[&Path]) -> Root {
        let shared = shared.iter().map(|path| path.to_path_buf()).collect();
        Root {
            dir: Some(dir),
            shared,
            devices: Vec::new(),
        }
    }

    /// The same place, which also sees `path`.
    pub fn sharing(&self, path: &Path) -> Root {
        let mut root = self.clone();
        root.shared.push(path.to_path_buf());
        root
    }

    /// The same place, which also has /dev/`name`.
    pub fn with_device(&self, name: &'static str) -> Root {
        let mut root = self.clone();
        root.devices.push(name);
        root
    }

    /// The file that a command sees as `path`, which is absolute.
    pub fn outside(&self, path: &str) -> PathBuf {
        let dir = self.dir.as_deref().unwrap_or(Path::new("/"));
        dir.join(path.trim_start_matches('/'))
    }

    /// A command that runs in folder `cwd`, without input, and ends when we do.
    pub fn command(&self, program: impl AsRef<OsStr>, cwd: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).process_group(0);
        let confined = match slash_is_mounted() {
            true => self.dir.is_some() || nix::unistd::geteuid().is_root(),
            false => {
                ensure!(
                    self.dir.is_none(),
                    "the toolchain root needs mounts of its own, which cannot be had in a chroot \
                     whose / is no mount point: outside, bind its folder on itself first (mount \
                     --bind DIR DIR)"
                );
                false
            }
        };
        if self.dir.is_some() {
            command
                .env_clear()
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
                .env("HOME", "/root");
            command.env("TERM", std::env::var_os("TERM").unwrap_or("dumb".into()));
            for name in ["http_proxy", "https_proxy", "no_proxy"] {
                std::env::var_os(name).map(|value| command.env(name, value));
            }
        }
        command
            .env("LANG", "C.UTF-8")
            .env_remove("LC_ALL")
            .env_remove("MAKEFLAGS");
        let setups = if confined { self.setups()? } else { Vec::new() };
        let dir = self.dir.as_ref().map(|dir| c(dir)).transpose()?;
        let cwd = c(cwd)?;
        let parent = std::process::id();
        // SAFETY: the closure only makes system calls; whatever they need was allocated above.
        unsafe {
            command.pre_exec(move || {
                signals::end_with(parent)?;
                if confined {
                    enter_namespaces(&setups)?;
                }
                if let Some(dir) = &dir {
                    check(libc::chroot(dir.as_ptr()))?;
                }
                check(libc::chdir(cwd.as_ptr()))
            })
        };
        Ok(command)
    }

    fn setups(&self) -> Result<Vec<Setup>> {
        let Some(dir) = &self.dir else {
            return Ok(vec![mount(
                "proc",
                "/proc".as_ref(),
                Some("proc"),
                0,
                None,
            )?]);
        };
        let at = |path: &str| dir.join(path.trim_start_matches('/'));
        let tmpfs = |path: &str, mode: &str| {
            mount(
                "tmpfs",
                &at(path),
                Some("tmpfs"),
                libc::MS_NOSUID,
                Some(mode),
            )
        };
        let mut all = vec![
            mount("proc", &at("proc"), Some("proc"), 0, None)?,
            bind("/sys".as_ref(), &at("sys"), libc::MS_REC)?,
            tmpfs("tmp", "mode=1777")?,
            tmpfs("dev", "mode=755")?,
            Setup::Dir(c(&at("dev/shm"))?),
            tmpfs("dev/shm", "mode=1777")?,
            Setup::Dir(c(&at("dev/pts"))?),
            mount(
                "devpts",
                &at("dev/pts"),
                Some("devpts"),
                0,
                Some("newinstance,ptmxmode=0666"),
            )?,
        ];
        let usual = ["null", "zero", "full", "random", "urandom", "tty"];
        for name in usual.iter().chain(&self.devices) {
            let inside = at("dev").join(name);
            all.push(Setup::Node(c(&inside)?));
            all.push(bind(&Path::new("/dev").join(name), &inside, 0)?);
        }
        for (name, to) in [
            ("ptmx", "pts/ptmx"),
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            all.push(Setup::Link(c(Path::new(to))?, c(&at("dev").join(name))?));
        }
        for path in &self.shared {
            let inside = at(&path.to_string_lossy());
            let whole = inside.clone();
            // Folders below /tmp are made in the child's own /tmp; others stay in the root.
            if path.starts_with("/tmp") {
                let mut above: Vec<_> = whole.ancestors().take_while(|p| *p != at("tmp")).collect();
                above.reverse();
                for folder in above {
                    all.push(Setup::Dir(c(folder)?));
                }
            } else {
                fs::create_dir_all(&inside).with_context(|| inside.display().to_string())?;
            }
            all.push(bind(path, &inside, 0)?);
        }
        Ok(all)
    }
}

/// Whether `/` is a mount point, as it is everywhere but in a plain chroot.
fn slash_is_mounted() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some("/"))
}

/// Moves the caller, a child that is about to exec, into namespaces of its own.
///
/// Two processes stay behind it: one outside, which passes on how the command ended, and the first
/// process of the new namespace, which reaps orphans and whose end is the end of all inside.
fn enter_namespaces(setups: &[Setup]) -> IoResult<()> {
    // SAFETY: system calls on our own process; every pointer is to a live C string.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWPID))?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(null(), c"/".as_ptr(), null(), private, null()))?;
        fork_and_follow()?;
        for setup in setups {
            setup.perform()?;
        }
        fork_and_follow()
    }
}

/// Goes on in a child; the parent only waits for it, and ends as it does.
///
/// # Safety
///
/// Only for a process with one thread that is about to exec.
unsafe fn fork_and_follow() -> IoResult<()> {
    let mut ends = [0; 2];
    check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
    let [far, near] = ends;
    let child = libc::fork();
    check(child)?;
    if child == 0 {
        check(libc::close(near))?;
        signals::end_with_parent()?;
        // The parent may have ended before that. Its process id, which is of another namespace,
        // does not tell, but it holds the near end for as long as it lives.
        let mut end = libc::pollfd {
            fd: far,
            events: 0,
            revents: 0,
        };
        check(libc::poll(&mut end, 1, 0))?;
        if end.revents & libc::POLLHUP != 0 {
            libc::_exit(1);
        }
        return check(libc::close(far));
    }
    // And nothing else that was open.
    let near = near as libc::c_uint;
    libc::close_range(3, near - 1, 0);
    libc::close_range(near + 1, libc::c_uint::MAX, 0);
    let mut status = 0;
    loop {
        let ended = libc::wait(&mut status);
        if ended == child || (ended < 0 && *libc::__errno_location() != libc::EINTR) {
            break;
        }
    }
    if libc::WIFEXITED(status) {
        libc::_exit(libc::WEXITSTATUS(status));
    }
    libc::_exit(128 + libc::WTERMSIG(status))
}

impl Setup {
    /// # Safety
    ///
    /// Changes the mounts of the caller: only in a mount namespace of its own.
    unsafe fn perform(&self) -> IoResult<()> {
        match self {
            Setup::Mount {
                source,
                target,
                kind,
                flags,
                data,
            } => check(libc::mount(
                source.as_ptr(),
                target.as_ptr(),
                kind.as_ref().map_or(null(), |kind| kind.as_ptr()),
                *flags,
                data.as_ref().map_or(null(), |data| data.as_ptr().cast()),
            )),
            Setup::Dir(path) => match check(libc::mkdir(path.as_ptr(), 0o755)) {
                Err(e) if e.raw_os_error() == Some(libc::EEXIST) => Ok(()),
                other => other,
            },
            Setup::Node(path) => {
                let fd = libc::open(path.as_ptr(), libc::O_CREAT | libc::O_CLOEXEC, 0o644);
                check(fd)?;
                check(libc::close(fd))
            }
            Setup::Link(to, path) => check(libc::symlink(to.as_ptr(), path.as_ptr())),
        }
    }
}

fn mount(
    source: &str,
    target: &Path,
    kind: Option<&str>,
    flags: libc::c_ulong,
    data: Option<&str>,
) -> Result<Setup> {
    Ok(Setup::Mount {
        source: CString::new(source)?,
        target: c(target)?,
        kind: kind.map(CString::new).transpose()?,
        flags,
        data: data.map(CString::new).transpose()?,
    })
}

fn bind(source: &Path, target: &Path, flags: libc::c_ulong) -> Result<Setup> {
    mount(
        &source.to_string_lossy(),
        target,
        None,
        libc::MS_BIND | flags,
        None,
    )
}

fn c(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).context("a path with a zero byte in it")
}

fn check(returned: libc::c_int) -> IoResult<()> {
    if returned < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}
