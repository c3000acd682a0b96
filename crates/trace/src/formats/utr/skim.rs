//! The metadata of a file, found without reading its events.

use std::io::{Read, Seek, SeekFrom};

use super::section::{
    DONE, Done, FILE_HEADER, META, SECTION_HEADER, SectionHeader, check_file_header,
};
use crate::recording::RunMeta;
use crate::source::TraceError;

/// The metadata of a whole file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skim {
    pub meta: RunMeta,
    pub events: u64,
}

/// Goes from section to section. `None` if the file is cut: then only reading it shows how much
/// of it is good.
pub fn skim(file: &mut (impl Read + Seek)) -> Result<Option<Skim>, TraceError> {
    let mut at = 0;
    let Some(header) = take::<FILE_HEADER>(file)? else { return Ok(None) };
    let located =
        |at: u64| move |fault: super::Fault| TraceError::Byte { offset: at, reason: fault.0 };
    check_file_header(&header).map_err(located(at))?;
    at += FILE_HEADER as u64;
    let mut meta = RunMeta::default();
    loop {
        let Some(header) = take::<SECTION_HEADER>(file)? else { return Ok(None) };
        let header = SectionHeader::parse(&header).map_err(located(at))?;
        if header.kind != META && header.kind != DONE {
            file.seek(SeekFrom::Current(header.stored_len as i64))?;
            at += (SECTION_HEADER + header.stored_len) as u64;
            continue;
        }
        // The header was checked: no section is larger than a few megabytes.
        let mut payload = vec![0; header.stored_len];
        if file.read_exact(&mut payload).is_err() {
            return Ok(None);
        }
        header.check(&payload).map_err(located(at))?;
        if header.compressed {
            payload = header.decompress(&payload).map_err(located(at))?;
        }
        if header.kind == DONE {
            let done = Done::parse(&payload).map_err(located(at))?;
            return Ok(Some(Skim { meta, events: done.events }));
        }
        meta = serde_json::from_slice(&payload)
            .map_err(|error| TraceError::Byte { offset: at, reason: error.to_string() })?;
        at += (SECTION_HEADER + header.stored_len) as u64;
    }
}

/// The next bytes; `None` if there are not that many.
fn take<const N: usize>(file: &mut impl Read) -> Result<Option<[u8; N]>, TraceError> {
    let mut bytes = [0; N];
    match file.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::event::{Event, Op};
    use crate::formats::utr::{Compression, Writer};
    use crate::ids::{LabelId, SiteId, ThreadId};
    use crate::source::Sink;
    use crate::tables::Tables;

    #[test]
    fn a_whole_file_tells_its_last_metadata_and_a_cut_one_nothing() {
        for compression in [Compression::None, Compression::Zstd] {
            let mut tables = Tables::default();
            tables.threads.push("main");
            let event = Event::new(ThreadId(0), Op::begin(LabelId::NONE), SiteId::NONE);
            let mut bytes = Vec::new();
            let mut writer = Writer::new(&mut bytes, compression);
            writer.write(&tables, &[event; 100]).unwrap();
            writer.flush(&tables).unwrap();
            tables.meta.command = vec!["java".to_owned(); 40];
            writer.finish(&tables).unwrap();
            let expected = Skim { meta: tables.meta, events: 100 };
            assert_eq!(skim(&mut Cursor::new(&bytes)).unwrap(), Some(expected));
            for end in 0..bytes.len() {
                assert_eq!(skim(&mut Cursor::new(&bytes[..end])).unwrap(), None);
            }
        }
    }
}
