// SPDX-License-Identifier: GPL-2.0-only

//! Kernel objects linked to be run in this process: references (instance.S with its alternatives
//! chosen by the assembler) and the call of call.S.

use anyhow::{bail, ensure, Context, Result};
use object::{Object, ObjectSection, ObjectSymbol, RelocationKind, RelocationTarget, SectionIndex};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

const PAGE: usize = 4096;

/// What the kernel has in other places, and does here: the thunks of returns and indirect calls.
const STUBS: [(&str, &[u8]); 4] = [
    ("__x86_return_thunk", &[0xc3]),
    ("__x86_indirect_thunk_rbx", &[0xff, 0xe3]),
    ("__x86_indirect_thunk_r11", &[0x41, 0xff, 0xe3]),
    ("__x86_indirect_thunk_array", &[0x0f, 0x0b]),
];

/// Objects in memory, code first.
pub struct Image {
    /// To be at `base`.
    pub bytes: Vec<u8>,
    /// Of these the code.
    pub code: usize,
    symbols: HashMap<String, usize>,
}

/// Where a section of an object is put.
struct SectionAddress {
    object: usize,
    section: SectionIndex,
    at: usize,
}

impl Image {
    /// Links objects to be put at an address.
    pub fn link(paths: &[&Path], base: usize) -> Result<Image> {
        let read = |path: &&Path| fs::read(path).with_context(|| format!("no {}", path.display()));
        let files: Vec<Vec<u8>> = paths.iter().map(read).collect::<Result<_>>()?;
        let parsed = files.iter().map(|data| object::File::parse(&data[..]));
        let objects: Vec<object::File> = parsed.collect::<Result<_, _>>()?;
        let mut image = Image {
            bytes: Vec::new(),
            code: 0,
            symbols: HashMap::new(),
        };
        for (name, code) in STUBS {
            image.align(16);
            image.symbols.insert(name.into(), base + image.bytes.len());
            image.bytes.extend(code);
        }
        let mut places = image.place(&objects, is_code)?;
        image.align(PAGE);
        image.code = image.bytes.len();
        places.extend(image.place(&objects, is_data)?);
        image.align(PAGE);
        for place in &places {
            let symbols = objects[place.object].symbols();
            for symbol in symbols.filter(|symbol| symbol.section_index() == Some(place.section)) {
                let address = base + place.at + symbol.address() as usize;
                image.symbols.insert(symbol.name()?.into(), address);
            }
        }
        for place in &places {
            image.relocate(&objects, &places, place, base)?;
        }
        Ok(image)
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Result<usize> {
        let found = self.symbols.get(name).copied();
        found.with_context(|| format!("no symbol {name} in the objects"))
    }

    fn align(&mut self, to: usize) {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(to), 0xcc);
    }

    /// Takes the sections of a kind.
    fn place(
        &mut self,
        objects: &[object::File],
        kind: fn(&str) -> bool,
    ) -> Result<Vec<SectionAddress>> {
        let mut places = Vec::new();
        for (object, file) in objects.iter().enumerate() {
            for section in file.sections().filter(|one| one.size() > 0) {
                if !kind(section.name()?) {
                    continue;
                }
                self.align((section.align() as usize).max(64));
                let at = self.bytes.len();
                self.bytes.extend(section.data()?);
                // What is in no file.
                self.bytes.resize(at + section.size() as usize, 0);
                let section = section.index();
                places.push(SectionAddress {
                    object,
                    section,
                    at,
                });
            }
        }
        Ok(places)
    }

    /// Applies the relocations of a section.
    fn relocate(
        &mut self,
        objects: &[object::File],
        places: &[SectionAddress],
        place: &SectionAddress,
        base: usize,
    ) -> Result<()> {
        let file = &objects[place.object];
        for (offset, relocation) in file.section_by_index(place.section)?.relocations() {
            let RelocationTarget::Symbol(index) = relocation.target() else {
                bail!("a relocation without a symbol");
            };
            let symbol = file.symbol_by_index(index)?;
            let of = symbol.section_index();
            let here =
                |other: &&SectionAddress| other.object == place.object && Some(other.section) == of;
            let target = match places.iter().find(here) {
                Some(other) => base + other.at + symbol.address() as usize,
                None => self.symbol(symbol.name()?)?,
            };
            let at = place.at + offset as usize;
            let value = target as i64 + relocation.addend();
            let size = usize::from(relocation.size()) / 8;
            let value = match relocation.kind() {
                RelocationKind::Absolute => value,
                RelocationKind::Relative | RelocationKind::PltRelative => {
                    value - (base + at) as i64
                }
                other => bail!("a relocation of kind {other:?}"),
            };
            let fits = size == 8 || i32::try_from(value).is_ok();
            ensure!(fits, "a relocation that does not reach");
            self.bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(())
    }
}

/// A reference is data, as Kbuild makes it (`.rodata.repmov_text`).
fn is_code(name: &str) -> bool {
    name == ".text" || name == ".rodata.repmov_text"
}

fn is_data(name: &str) -> bool {
    let starts = [".rodata", ".data", ".bss"].iter();
    !is_code(name) && starts.into_iter().any(|start| name.starts_with(start))
}
