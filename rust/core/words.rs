// SPDX-License-Identifier: GPL-2.0-only

//! The `key=value` words of a plan, apart from what they mean.

use super::ranges::{
    self,
    Ranges, //
};
use super::refusal::{
    refuse,
    Class,
    Refusal,
    Why, //
};

/// The keys there are.
pub(super) const KEYS: [&str; 15] = [
    "routine",
    "candidate",
    "mask",
    "entry",
    "len",
    "src",
    "dst",
    "mem",
    "cache",
    "fault",
    "draw",
    "weight",
    "rounds",
    "cpu",
    "buffers",
];

/// The values of a plan's text in the order of [`KEYS`].
pub(super) fn values(text: &str) -> Result<[Option<&str>; KEYS.len()], Refusal> {
    let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
    for word in text.split_ascii_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            return refuse(Class::Invalid, word, Why::NoValue);
        };
        let Some(at) = KEYS.into_iter().position(|known| known == key) else {
            return refuse(Class::Invalid, key, Why::Unknown);
        };
        if values[at].replace(value).is_some() {
            return refuse(Class::Invalid, key, Why::Twice);
        }
        if value.is_empty() {
            return refuse(Class::Invalid, key, Why::List(ranges::Error::Empty));
        }
    }
    if values.iter().all(Option::is_none) {
        return refuse(Class::Invalid, "", Why::Empty);
    }
    Ok(values)
}

/// Reads a list of numbers up to `most`.
pub(super) fn list(into: &mut Ranges, key: &str, value: &str, most: u64) -> Result<(), Refusal> {
    if let Err(error) = into.read(value) {
        return refuse(Class::Invalid, key, Why::List(error));
    }
    if into.max() > most {
        return refuse(Class::Range, key, Why::Between(0, most));
    }
    Ok(())
}

/// One number, or what stands for it.
pub(super) fn single(
    key: &str,
    value: Option<&str>,
    (least, normal, most): (u64, u64, u64),
) -> Result<u64, Refusal> {
    let Some(value) = value else {
        return Ok(normal);
    };
    if value.contains([',', '-', '/']) {
        return refuse(Class::Invalid, key, Why::Single);
    }
    match ranges::number(value).map(u64::from) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) => refuse(Class::Range, key, Why::Between(least, most)),
        Err(error) => refuse(Class::Invalid, key, Why::List(error)),
    }
}
