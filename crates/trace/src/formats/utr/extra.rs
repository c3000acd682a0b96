//! Sections that other crates keep in a trace file: a schedule, say.

use std::fs::File;
use std::path::Path;

use super::section::{FILE_HEADER, SECTION_HEADER, SectionHeader, check_file_header};
use crate::formats::map;
use crate::source::TraceError;

/// The kind of a section that readers of traces pass over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtraKind(pub(super) [u8; 4]);

impl ExtraKind {
    /// # Panics
    /// At compile time, if the kind does not start with a lower-case letter.
    pub const fn new(kind: &[u8; 4]) -> Self {
        assert!(kind[0].is_ascii_lowercase(), "readers may only pass over lower-case kinds");
        Self(*kind)
    }
}

/// The payloads of all sections of that kind in a file, one after the other. A cut file gives those before the cut.
pub fn extras(path: &Path, kind: ExtraKind) -> Result<Vec<u8>, TraceError> {
    let map = || {
        let file = File::open(path)?;
        // What has no bytes cannot be mapped.
        let is_empty = file.metadata()?.len() == 0;
        if is_empty { Ok(None) } else { map::map(&file).map(Some) }
    };
    let failed = |error: std::io::Error| TraceError::Other(error.to_string()).in_file(path);
    match map().map_err(failed)? {
        Some(bytes) => extras_in(&bytes, kind).map_err(|error| error.in_file(path)),
        None => Ok(Vec::new()),
    }
}

fn extras_in(file: &[u8], kind: ExtraKind) -> Result<Vec<u8>, TraceError> {
    let located = |offset: usize| {
        move |fault: super::Fault| TraceError::Byte { offset: offset as u64, reason: fault.0 }
    };
    let Some(header) = file.first_chunk::<FILE_HEADER>() else { return Ok(Vec::new()) };
    check_file_header(header).map_err(located(0))?;
    let mut found = Vec::new();
    let mut at = FILE_HEADER;
    while let Some(header) = file[at..].first_chunk::<SECTION_HEADER>() {
        let header = SectionHeader::parse(header).map_err(located(at))?;
        let start = at + SECTION_HEADER;
        let Some(payload) = file.get(start..start + header.stored_len) else { break };
        if header.kind == kind.0 {
            header.check(payload).map_err(located(at))?;
            match header.compressed {
                true => found.extend(header.decompress(payload).map_err(located(at))?),
                false => found.extend_from_slice(payload),
            }
        }
        at = start + header.stored_len;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::utr::{Compression, Reader, Writer};
    use crate::source::{Sink, Source, Strictness};
    use crate::tables::Tables;

    const KIND: ExtraKind = ExtraKind::new(b"test");

    fn file(compression: Compression) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, compression);
        writer.extra(KIND, b"one ").unwrap();
        writer.extra(ExtraKind::new(b"else"), b"not this").unwrap();
        writer.extra(KIND, &[b'x'; 1000]).unwrap();
        writer.finish(&Tables::default()).unwrap();
        bytes
    }

    #[test]
    fn extra_sections_are_found_again_and_passed_over_by_readers() {
        for compression in [Compression::None, Compression::Zstd] {
            let bytes = file(compression);
            let mut expected = b"one ".to_vec();
            expected.extend([b'x'; 1000]);
            assert_eq!(extras_in(&bytes, KIND).unwrap(), expected);
            let mut reader = Reader::new(bytes, Strictness::Strict);
            let mut batch = Vec::new();
            reader.read(&mut batch).unwrap();
            assert!(batch.is_empty());
        }
    }

    #[test]
    fn a_cut_file_gives_what_is_whole_and_a_flipped_bit_is_an_error() {
        let bytes = file(Compression::None);
        for end in 0..bytes.len() {
            let found = extras_in(&bytes[..end], KIND).unwrap();
            assert!(found.is_empty() || found.starts_with(b"one "));
        }
        let mut flipped = bytes;
        flipped[FILE_HEADER + SECTION_HEADER] ^= 1;
        assert!(extras_in(&flipped, KIND).is_err());
    }
}
