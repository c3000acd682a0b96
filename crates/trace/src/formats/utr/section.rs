//! The frame of a file: its header and the headers of its sections.

use super::Fault;
use super::bytes::Cursor;

/// The first bytes of every `.utr` file. The line ends and the control-Z show at once that a
/// transfer has mangled a binary file.
pub const MAGIC: [u8; 8] = *b"\x89UTR\r\n\x1a\n";

/// Major and minor version that this code writes.
pub const VERSION: (u16, u16) = (3, 0);

pub(super) const FILE_HEADER: usize = 16;
pub(super) const SECTION_HEADER: usize = 24;

/// The largest section, before and after compression. Writers stay far below it; readers refuse
/// to allocate more.
pub(super) const MAX_SECTION: usize = 16 << 20;

pub(super) const META: [u8; 4] = *b"META";
pub(super) const NAMES: [u8; 4] = *b"NAME";
pub(super) const EVENTS: [u8; 4] = *b"EVTS";
pub(super) const DONE: [u8; 4] = *b"DONE";

/// The end marker: how many events the file has, and how many of them cannot have happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Done {
    pub events: u64,
    pub defects: u64,
}

impl Done {
    pub const LEN: usize = 16;

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.events.to_le_bytes());
        bytes[8..].copy_from_slice(&self.defects.to_le_bytes());
        bytes
    }

    pub fn parse(payload: &[u8]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(payload, 0);
        Ok(Self { events: cursor.u64()?, defects: cursor.u64()? })
    }

    /// The end marker of a whole file, if it has one.
    pub fn of_file(file: &[u8]) -> Option<Self> {
        let marker = file.len().checked_sub(SECTION_HEADER + Self::LEN)?;
        let (header, payload) = file[marker..].split_at(SECTION_HEADER);
        let header = SectionHeader::parse(header.first_chunk()?).ok()?;
        let is_marker = header.kind == DONE && header.check(payload).is_ok();
        is_marker.then(|| Self::parse(payload).ok()).flatten()
    }
}

const STORED: u8 = 0;
const ZSTD: u8 = 1;

pub(super) fn file_header() -> [u8; FILE_HEADER] {
    let mut header = [0; FILE_HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.0.to_le_bytes());
    header[10..12].copy_from_slice(&VERSION.1.to_le_bytes());
    let sum = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Checks that this is a file that we can read.
pub(super) fn check_file_header(header: &[u8; FILE_HEADER]) -> Result<(), Fault> {
    if header[..8] != MAGIC {
        return Err(Fault::new("this is not a .utr file: it does not start with the .utr mark"));
    }
    let sum = u32::from_le_bytes(header[12..].try_into().expect("four bytes"));
    if sum != crc32c::crc32c(&header[..12]) {
        return Err(Fault::new("the file header is damaged: its checksum differs"));
    }
    let major = u16::from_le_bytes([header[8], header[9]]);
    if major != VERSION.0 {
        let way_out = if major < VERSION.0 {
            "record it anew, or convert it to JSON lines with the untorn that wrote it"
        } else {
            "a newer untorn can read or convert it"
        };
        return Err(Fault::new(format!(
            "the file has format version {major}, this program reads version {}; {way_out}",
            VERSION.0
        )));
    }
    Ok(())
}

/// What precedes the payload of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionHeader {
    pub kind: [u8; 4],
    pub compressed: bool,
    pub stored_len: usize,
    pub raw_len: usize,
    payload_sum: u32,
}

impl SectionHeader {
    /// The header of a section that stores `payload`, whose plain form has `raw_len` bytes.
    pub fn new(kind: [u8; 4], payload: &[u8], compressed: bool, raw_len: usize) -> Self {
        let payload_sum = crc32c::crc32c(payload);
        Self { kind, compressed, stored_len: payload.len(), raw_len, payload_sum }
    }

    pub fn to_bytes(self) -> [u8; SECTION_HEADER] {
        let mut bytes = [0; SECTION_HEADER];
        bytes[..4].copy_from_slice(&self.kind);
        bytes[4] = if self.compressed { ZSTD } else { STORED };
        bytes[8..12].copy_from_slice(&(self.stored_len as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.raw_len as u32).to_le_bytes());
        bytes[16..20].copy_from_slice(&self.payload_sum.to_le_bytes());
        let sum = crc32c::crc32c(&bytes[..20]);
        bytes[20..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub fn parse(bytes: &[u8; SECTION_HEADER]) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(bytes, 4);
        let (codec, reserved) = (cursor.byte()?, cursor.take(3)?);
        let (stored_len, raw_len) = (cursor.u32()? as usize, cursor.u32()? as usize);
        let payload_sum = cursor.u32()?;
        if cursor.u32()? != crc32c::crc32c(&bytes[..20]) {
            return Err(Fault::new("a section header is damaged: its checksum differs"));
        }
        if codec > ZSTD || reserved != [0; 3] {
            return Err(Fault::new("a section is packed in a way that this program does not know"));
        }
        if stored_len > MAX_SECTION || raw_len > MAX_SECTION {
            return Err(Fault::new(format!("a section of more than {MAX_SECTION} bytes")));
        }
        let kind = [bytes[0], bytes[1], bytes[2], bytes[3]];
        Ok(Self { kind, compressed: codec == ZSTD, stored_len, raw_len, payload_sum })
    }

    /// Whether a reader that does not know the kind may pass over it.
    pub fn may_be_skipped(&self) -> bool {
        self.kind[0].is_ascii_lowercase()
    }

    pub fn kind_text(&self) -> String {
        self.kind.escape_ascii().to_string()
    }

    pub fn check(&self, payload: &[u8]) -> Result<(), Fault> {
        if crc32c::crc32c(payload) == self.payload_sum {
            return Ok(());
        }
        let kind = self.kind_text();
        Err(Fault::new(format!("section {kind} is damaged: its checksum differs")))
    }

    /// The plain form of a compressed payload.
    pub fn decompress(&self, payload: &[u8]) -> Result<Vec<u8>, Fault> {
        let raw = zstd::bulk::decompress(payload, self.raw_len);
        let raw = raw.map_err(|error| Fault::new(format!("cannot decompress it: {error}")))?;
        if raw.len() != self.raw_len {
            return Err(Fault::new("it decompresses to another length than it claims"));
        }
        Ok(raw)
    }
}
