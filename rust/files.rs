// SPDX-License-Identifier: GPL-2.0-only

//! The files in `/sys/kernel/debug/repmov`, for root only.
//!
//! | file | |
//! |---|---|
//! | `instances` (r) | a row per instance: what it is, where it is, what the loader made of it |
//! | `plan` (rw) | what to time, as `key=value` words |
//! | `run` (w) | any write runs the plan, and returns when it is done |
//! | `timings` (r) | the last record; the first read runs the default plan if there is none |
//! | `verify` (rw) | runs the checks and prints KTAP; takes words that say which ([`crate::wanted`]) |
//! | `status` (r) | what goes on, and the last error in words |
//!
//! The file operations are made here, not by `kernel::debugfs`: those name no owner (7.3), so the
//! module could be unloaded while a file is open, and closing it would then follow a pointer into
//! the module's freed memory. With an owner, unloading is refused with EBUSY instead. And a text
//! must be made once for each open file, not again whenever a seq_file's buffer grows.

use core::ptr;

use kernel::{
    bindings,
    error::from_result,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    },
    uaccess::{
        UserPtr,
        UserSlice, //
    },
};

use crate::{
    bench::{
        Bench,
        PLAN_MAX, //
    },
    instance::{
        self,
        Instance, //
    },
    text::{
        line,
        Text, //
    },
};

/// The files.
#[derive(Clone, Copy)]
enum Name {
    Instances,
    Plan,
    Run,
    Timings,
    Verify,
    Status,
}

impl Name {
    const ALL: [Name; 6] = [
        Name::Instances,
        Name::Plan,
        Name::Run,
        Name::Timings,
        Name::Verify,
        Name::Status,
    ];

    fn as_c_str(self) -> &'static CStr {
        match self {
            Name::Instances => c"instances",
            Name::Plan => c"plan",
            Name::Run => c"run",
            Name::Timings => c"timings",
            Name::Verify => c"verify",
            Name::Status => c"status",
        }
    }

    fn mode(self) -> u16 {
        match self {
            Name::Plan | Name::Verify => 0o600,
            Name::Run => 0o200,
            _ => 0o400,
        }
    }

    /// What the file holds.
    fn text(self, bench: &Bench) -> Result<Text> {
        match self {
            Name::Instances => instances(),
            Name::Plan => bench.plan_text(),
            Name::Run => Err(EINVAL),
            Name::Timings => bench.record(),
            Name::Verify => bench.verify(),
            Name::Status => bench.status(),
        }
    }

    /// Takes what was written.
    fn write(self, bench: &Bench, words: &[u8]) -> Result {
        match self {
            Name::Plan => bench.set_plan(words),
            Name::Run => bench.run(),
            Name::Verify => bench.set_wanted(words),
            _ => Err(EINVAL),
        }
    }
}

/// What a file's inode points to.
struct Node {
    name: Name,
    bench: Arc<Bench>,
}

/// What an open file points to: its text, once it was read.
#[pin_data]
struct Open {
    node: *const Node,
    #[pin]
    text: Mutex<Option<Text>>,
}

impl Open {
    /// # Safety
    ///
    /// `file` must be one of ours, opened by [`open`], and not yet removed (debugfs holds removal
    /// off while an operation runs).
    unsafe fn of<'a>(file: *mut bindings::file) -> (&'a Open, &'a Node) {
        // SAFETY: `open` put an `Open` there, `release` alone takes it away.
        let open = unsafe { &*(*file).private_data.cast::<Open>() };
        // SAFETY: The node lives until the file is removed.
        (open, unsafe { &*open.node })
    }
}

/// # Safety
///
/// Called by debugfs with one of our inodes and a file being opened.
unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    from_result(|| {
        let open = KBox::pin_init(
            pin_init!(Open {
                // SAFETY: `Files::new` gave the inode a pointer to its node.
                node: unsafe { (*inode).i_private }.cast(),
                text <- new_mutex!(None),
            }),
            GFP_KERNEL,
        )?;
        // SAFETY: The box is pinned and stays so until `release` makes a box of it again.
        let open = unsafe { Pin::into_inner_unchecked(open) };
        // SAFETY: The file is being opened, its private data is ours to set.
        unsafe { (*file).private_data = KBox::into_raw(open).cast() };
        Ok(0)
    })
}

/// # Safety
///
/// Called by debugfs with an open file of ours.
unsafe extern "C" fn read(
    file: *mut bindings::file,
    buffer: *mut c_char,
    count: usize,
    pos: *mut bindings::loff_t,
) -> isize {
    from_result(|| {
        // SAFETY: By the caller.
        let (open, node) = unsafe { Open::of(file) };
        let mut text = open.text.lock();
        if text.is_none() {
            *text = Some(node.name.text(&node.bench)?);
        }
        let bytes = text.as_ref().map_or(&[][..], Text::as_bytes);
        let mut writer = UserSlice::new(UserPtr::from_ptr(buffer.cast()), count).writer();
        // SAFETY: The position is the file's, which the caller holds.
        let copied = writer.write_slice_file(bytes, unsafe { &mut *pos })?;
        Ok(copied as isize)
    })
}

/// # Safety
///
/// Called by debugfs with an open file of ours.
unsafe extern "C" fn write(
    file: *mut bindings::file,
    buffer: *const c_char,
    count: usize,
    _pos: *mut bindings::loff_t,
) -> isize {
    from_result(|| {
        // SAFETY: By the caller.
        let (open, node) = unsafe { Open::of(file) };
        // One byte more than is allowed tells a long plan from one of the greatest length.
        let taken = count.min(PLAN_MAX + 1);
        let mut words = KVVec::new();
        UserSlice::new(UserPtr::from_ptr(buffer.cast_mut().cast()), taken)
            .read_all(&mut words, GFP_KERNEL)?;
        node.name.write(&node.bench, &words)?;
        // What was read of this file before is no longer so.
        *open.text.lock() = None;
        Ok(count as isize)
    })
}

/// # Safety
///
/// Called by debugfs with a file of ours that nobody uses any more.
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: `open` made the pointer of a box, which was pinned and is dropped where it is.
    let open = unsafe { KBox::from_raw((*file).private_data.cast::<Open>()) };
    drop(KBox::into_pin(open));
    0
}

/// All files, and the directory; removed when dropped.
pub(crate) struct Files {
    dir: *mut bindings::dentry,
    // Dropped after the files were removed. debugfs keeps pointers to both.
    _nodes: KVec<KBox<Node>>,
    _operations: KBox<bindings::file_operations>,
}

// SAFETY: The pointers are debugfs's and its to lock; nothing here depends on the thread.
unsafe impl Send for Files {}
// SAFETY: As above.
unsafe impl Sync for Files {}

impl Files {
    pub(crate) fn new(bench: Arc<Bench>, module: &'static ThisModule) -> Result<Files> {
        let operations = KBox::new(
            bindings::file_operations {
                owner: module.as_ptr(),
                open: Some(open),
                read: Some(read),
                write: Some(write),
                release: Some(release),
                llseek: Some(bindings::default_llseek),
                ..pin_init::zeroed()
            },
            GFP_KERNEL,
        )?;
        // SAFETY: The name is a string, and no parent means the root.
        let dir = unsafe { bindings::debugfs_create_dir(c"repmov".as_char_ptr(), ptr::null_mut()) };
        let mut files = Files {
            dir: kernel::error::from_err_ptr(dir)?,
            _nodes: KVec::new(),
            _operations: operations,
        };
        for name in Name::ALL {
            let node = KBox::new(
                Node {
                    name,
                    bench: bench.clone(),
                },
                GFP_KERNEL,
            )?;
            let data: *const Node = &*node;
            files._nodes.push(node, GFP_KERNEL)?;
            // SAFETY: The directory was just made. Node and operations are boxed, so they stay
            // where they are, and `drop` removes the file before it frees them.
            let file = unsafe {
                bindings::debugfs_create_file_full(
                    name.as_c_str().as_char_ptr(),
                    name.mode(),
                    files.dir,
                    data.cast_mut().cast(),
                    ptr::null(),
                    &*files._operations,
                )
            };
            kernel::error::from_err_ptr(file)?;
        }
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // SAFETY: The directory is ours. Operations that run are waited for.
        unsafe { bindings::debugfs_remove(self.dir) };
    }
}

/// Bytes as hexadecimal digits.
struct Hex<'a>(&'a [u8]);

impl core::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The table of instances. The last column says what the loader made of each site: offset from
/// the entry, length, bytes.
fn instances() -> Result<Text> {
    let mut out = Text::new();
    line!(
        out,
        "routine\tcandidate\tmask\tentry\taddress\tsize\treturns\tthunked\tsites"
    )?;
    let rule = instance::return_rule()?;
    for i in instance::candidates() {
        let text = i.text();
        let count = rule.check(&text).unwrap_or_default();
        out.print(format_args!(
            "{}\t{}\t{}\t{}\t{:#x}\t{}\t{}\t{}\t",
            i.routine(),
            i.candidate(),
            i.mask(),
            i.entry(),
            Instance::address(i) as usize,
            text.bytes.len(),
            count.returns,
            count.thunked
        ))?;
        for (n, (offset, length)) in i.sites().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let bytes = text.bytes.get(offset..offset + length).unwrap_or(&[]);
            out.print(format_args!("{comma}+{offset:#x}/{length}:{}", Hex(bytes)))?;
        }
        line!(out, "")?;
    }
    Ok(out)
}
