// SPDX-License-Identifier: GPL-2.0-only

//! What a plan comes to: the cells to be timed.

use kernel::prelude::*;

use crate::{
    instance::{
        self,
        Instance, //
    },
    pure::{
        choice::{
            Cache,
            Draw,
            Mem, //
        },
        draw::Lengths,
        plan::{
            Known,
            Plan, //
        },
        record, //
    },
};

/// An instance, as records call it.
#[derive(Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) instance: Instance,
    /// The candidate's name, or [`record::TWIN`].
    pub(crate) candidate: &'static str,
    /// The mask asked for: of a twin, that of what it is the twin of.
    pub(crate) mask: &'static str,
}

/// One length at one pair of offsets, in one state of memory.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) len: usize,
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) mem: Mem,
    pub(crate) cache: Cache,
    /// The byte at which every call faults.
    pub(crate) fault: Option<usize>,
}

/// What is called.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// The function that does nothing.
    Empty,
    /// The one that shows how fast the core's clock is.
    Chain,
    /// An instance.
    Timed(Timed),
}

/// What is timed, and at which place.
pub(crate) struct Cell {
    pub(crate) what: What,
    pub(crate) place: Place,
    /// The cell of the empty function that is called in the same way.
    pub(crate) empty: usize,
    /// Calls in a window; nought until it is known.
    pub(crate) calls: u64,
    /// Whether interrupts stay on: a call is too long for having them off, or may meet a fault.
    pub(crate) irqs_on: bool,
    /// Thousandths of cycles and instructions per call, where they are counted.
    pub(crate) counts: Option<[i64; 2]>,
}

impl Cell {
    fn new(what: What, place: Place, empty: usize) -> Cell {
        Cell {
            what,
            place,
            empty,
            calls: 0,
            irqs_on: false,
            counts: None,
        }
    }

    /// The instance, if it is one that is timed.
    pub(crate) fn timed(&self) -> Option<Timed> {
        match self.what {
            What::Timed(timed) => Some(timed),
            What::Empty | What::Chain => None,
        }
    }
}

/// The instances of a plan. The one that is built twice is always among them, and its twin behind
/// it: what these two differ by is what the bench cannot tell apart.
fn timed(plan: &Plan) -> Result<KVVec<Timed>> {
    let mut all = KVVec::new();
    for instance in instance::candidates() {
        let (routine, candidate) = (instance.routine(), instance.candidate());
        let wanted = routine == plan.routine()
            && plan.masks.has(instance.mask())
            && plan.entries.iter().any(|e| e == instance.entry() as u64)
            && (plan.names(candidate) || instance::Built.is_base(routine, candidate));
        if !wanted {
            continue;
        }
        let mask = instance.mask().name();
        let one = Timed {
            instance,
            candidate,
            mask,
        };
        all.push(one, GFP_KERNEL)?;
        if let Some(twin) = instance.twin() {
            let twin = Timed {
                instance: twin,
                candidate: record::TWIN,
                mask,
            };
            all.push(twin, GFP_KERNEL)?;
        }
    }
    Ok(all)
}

/// The lengths and the faults of a plan as lists.
fn lengths(plan: &Plan) -> Result<(KVVec<usize>, KVVec<Option<usize>>)> {
    let (mut lengths, mut faults) = (KVVec::new(), KVVec::new());
    match plan.draw {
        Draw::Each => {
            for len in plan.len.iter() {
                lengths.push(len as usize, GFP_KERNEL)?;
            }
        }
        Draw::Random => {
            let mean = Lengths::new(&plan.len, &plan.weight, 0).mean();
            lengths.push(mean as usize, GFP_KERNEL)?;
        }
    }
    for byte in plan.fault.iter() {
        faults.push(Some(byte as usize), GFP_KERNEL)?;
    }
    if !plan.faults() {
        faults.push(None, GFP_KERNEL)?;
    }
    Ok((lengths, faults))
}

/// The places of a plan.
fn places(plan: &Plan) -> Result<KVVec<Place>> {
    let (lengths, faults) = lengths(plan)?;
    let mut places = KVVec::new();
    for mem in plan.mem.iter() {
        for cache in plan.cache.iter() {
            for &fault in faults.iter() {
                for &len in lengths.iter() {
                    for src in plan.src.iter() {
                        for dst in plan.dst.iter() {
                            let place = Place {
                                len,
                                src: src as usize,
                                dst: dst as usize,
                                mem,
                                cache,
                                fault,
                            };
                            places.push(place, GFP_KERNEL)?;
                        }
                    }
                }
            }
        }
    }
    Ok(places)
}

/// The cells of a plan: first the empty function in every way in which it will be called, then the
/// chain, then place by place all instances, so that what is compared is measured close together.
///
/// # Errors
///
/// [`ENOMEM`], or [`ENOENT`] if the plan matches no instance.
pub(crate) fn cells(plan: &Plan) -> Result<KVVec<Cell>> {
    let timed = timed(plan)?;
    if timed.is_empty() {
        return Err(ENOENT);
    }
    let mut cells = KVVec::new();
    let nothing = |cache| Place {
        len: 0,
        src: 0,
        dst: 0,
        mem: Mem::Kernel,
        cache,
        fault: None,
    };
    for cache in plan.cache.iter() {
        let cell = Cell::new(What::Empty, nothing(cache), cells.len());
        cells.push(cell, GFP_KERNEL)?;
    }
    let chain = Cell::new(What::Chain, nothing(Cache::Hot), 0);
    cells.push(chain, GFP_KERNEL)?;
    for &place in places(plan)?.iter() {
        let empty = plan.cache.iter().position(|cache| cache == place.cache);
        for &timed in timed.iter() {
            let cell = Cell::new(What::Timed(timed), place, empty.unwrap_or(0));
            cells.push(cell, GFP_KERNEL)?;
        }
    }
    Ok(cells)
}
