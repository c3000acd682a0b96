//! The JDK's own classes, which it keeps in one image file, `lib/modules`.
//!
//! The format is internal to the JDK and described only by its sources
//! (`src/java.base/share/native/libjimage/imageFile.hpp`); it has not changed since JDK 9:
//!
//! ```text
//!   header     7 numbers: magic, version, flags, resources, length of the tables, sizes
//!   redirect   a number a slot, for look-up by name; we only ever read everything
//!   offsets    a number a slot: where in `locations` the resource is described
//!   locations  attributes: a byte (kind × 8 + size − 1), then the value, highest byte first
//!   strings    ended by zero bytes
//!   resources
//! ```
//!
//! Numbers outside of locations are in the byte order of the machine the image was made for. We
//! read little-endian images without compression, which all JDK builds for our platforms are.

use std::ops::Range;
use std::path::Path;

use thiserror::Error;

const MAGIC: u32 = 0xcafe_dada;
const MAJOR_VERSION: u32 = 1;
const HEADER_SIZE: usize = 28;

/// An image that cannot be read, or a resource of it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    #[error("cannot read the image: {0}")]
    Io(#[from] std::io::Error),
    #[error("this is not a little-endian image: it begins with {0:#010x}")]
    Magic(u32),
    #[error("version {major}.{minor} of the image format is unknown")]
    Version { major: u32, minor: u32 },
    #[error("the image ends inside of {0}")]
    Truncated(&'static str),
    #[error("the name of the resource at location {location} is not in the image")]
    Name { location: u32 },
    #[error("the content of {path} is not in the image")]
    Content { path: String },
    #[error("{path} is compressed, which is not supported")]
    Compressed { path: String },
}

/// An image file, as a whole in memory.
#[derive(Debug)]
pub struct Image {
    bytes: Vec<u8>,
    /// How many numbers the tables have.
    slots: usize,
    /// Where the locations stand. Within `bytes`, as is the next.
    locations: Range<usize>,
    /// Where the strings stand; the resources follow.
    strings: Range<usize>,
}

/// A file in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource<'a> {
    pub module: &'a str,
    /// The folder: for a class, its package with slashes.
    pub parent: &'a str,
    pub base: &'a str,
    pub extension: &'a str,
    pub bytes: &'a [u8],
}

impl Resource<'_> {
    /// The path within the module, such as `java/lang/Object.class`.
    pub fn path(&self) -> String {
        path(self.parent, self.base, self.extension)
    }
}

fn path(parent: &str, base: &str, extension: &str) -> String {
    let slash = if parent.is_empty() { "" } else { "/" };
    let dot = if extension.is_empty() { "" } else { "." };
    format!("{parent}{slash}{base}{dot}{extension}")
}

/// What the image says of one resource. The first five are offsets, the last two sizes; what is
/// not said is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Location {
    module: u64,
    parent: u64,
    base: u64,
    extension: u64,
    content: u64,
    compressed: u64,
    size: u64,
}

impl Image {
    /// Reads an image file, usually `lib/modules` of a JDK.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImageError> {
        Self::parse(std::fs::read(path)?)
    }

    pub fn parse(bytes: Vec<u8>) -> Result<Self, ImageError> {
        let header =
            |nth: usize| number(&bytes, nth * 4).ok_or(ImageError::Truncated("its header"));
        let (magic, version) = (header(0)?, header(1)?);
        if magic != MAGIC {
            return Err(ImageError::Magic(magic));
        }
        let (major, minor) = (version >> 16, version & 0xffff);
        if major != MAJOR_VERSION {
            return Err(ImageError::Version { major, minor });
        }
        let [slots, locations, strings] = [header(4)?, header(5)?, header(6)?].map(u64::from);
        let locations_at = HEADER_SIZE as u64 + slots * 8;
        let strings_at = locations_at + locations;
        let end = strings_at + strings;
        if end > bytes.len() as u64 {
            return Err(ImageError::Truncated("its index"));
        }
        // From here on, all of them are below the length of something in memory.
        let [slots, locations_at, strings_at, end] =
            [slots, locations_at, strings_at, end].map(|number| number as usize);
        Ok(Self { bytes, slots, locations: locations_at..strings_at, strings: strings_at..end })
    }

    /// The whole file; the contents of resources are parts of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All files of the image, in no particular order.
    pub fn resources(&self) -> impl Iterator<Item = Result<Resource<'_>, ImageError>> {
        let offsets_at = HEADER_SIZE + self.slots * 4;
        (0..self.slots)
            .filter_map(move |slot| number(&self.bytes, offsets_at + slot * 4))
            .map(|location| self.resource(location))
    }

    /// All class files of the image, module descriptors included.
    pub fn classes(&self) -> impl Iterator<Item = Result<Resource<'_>, ImageError>> {
        self.resources()
            .filter(|resource| resource.as_ref().map_or(true, |found| found.extension == "class"))
    }

    fn resource(&self, location: u32) -> Result<Resource<'_>, ImageError> {
        let found = self.location(location)?;
        let name = |offset| self.string(offset).ok_or(ImageError::Name { location });
        let (module, parent) = (name(found.module)?, name(found.parent)?);
        let (base, extension) = (name(found.base)?, name(found.extension)?);
        if found.compressed != 0 {
            return Err(ImageError::Compressed { path: path(parent, base, extension) });
        }
        let bytes = self
            .content(&found)
            .ok_or_else(|| ImageError::Content { path: path(parent, base, extension) })?;
        Ok(Resource { module, parent, base, extension, bytes })
    }

    fn location(&self, offset: u32) -> Result<Location, ImageError> {
        let mut found = Location::default();
        let mut rest = self.bytes[self.locations.clone()]
            .get(offset as usize..)
            .ok_or(ImageError::Truncated("its locations"))?;
        loop {
            let (&head, tail) = rest.split_first().ok_or(ImageError::Truncated("its locations"))?;
            let (kind, size) = (head >> 3, usize::from(head & 7) + 1);
            if kind == 0 {
                return Ok(found);
            }
            let (value, tail) =
                tail.split_at_checked(size).ok_or(ImageError::Truncated("its locations"))?;
            rest = tail;
            let value = value.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
            match kind {
                1 => found.module = value,
                2 => found.parent = value,
                3 => found.base = value,
                4 => found.extension = value,
                5 => found.content = value,
                6 => found.compressed = value,
                7 => found.size = value,
                _ => {}
            }
        }
    }

    fn string(&self, offset: u64) -> Option<&str> {
        let strings = &self.bytes[self.strings.clone()];
        let rest = strings.get(usize::try_from(offset).ok()?..)?;
        let len = rest.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&rest[..len]).ok()
    }

    fn content(&self, location: &Location) -> Option<&[u8]> {
        let start = self.strings.end.checked_add(usize::try_from(location.content).ok()?)?;
        let end = start.checked_add(usize::try_from(location.size).ok()?)?;
        self.bytes.get(start..end)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRINGS: &[u8] = b"\0java.base\0java/lang\0Object\0class\0";
    const CONTENT: &[u8] = b"content";

    /// An image with one resource, whose location has these attributes besides its names.
    fn image(attributes: &[u8]) -> Vec<u8> {
        let mut locations = vec![1 << 3, 1, 2 << 3, 11, 3 << 3, 21, 4 << 3, 28];
        locations.extend(attributes);
        locations.push(0);
        let header = [MAGIC, 1 << 16, 0, 1, 1, locations.len() as u32, STRINGS.len() as u32, 0, 0];
        let mut bytes: Vec<u8> = header.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(locations);
        bytes.extend(STRINGS);
        bytes.extend(CONTENT);
        bytes
    }

    fn only(bytes: Vec<u8>) -> Result<(String, String, Vec<u8>), ImageError> {
        let image = Image::parse(bytes)?;
        let resource = image.classes().next().expect("a resource")?;
        Ok((resource.module.to_owned(), resource.path(), resource.bytes.to_vec()))
    }

    #[test]
    fn a_resource_is_found() {
        // An offset of two bytes and a size of one.
        let found = only(image(&[5 << 3 | 1, 0, 1, 7 << 3, 6])).expect("a sound image");
        let path = "java/lang/Object.class".to_owned();
        assert_eq!(found, ("java.base".to_owned(), path, CONTENT[1..].to_vec()));
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let error = |bytes| only(bytes).expect_err("a broken image").to_string();
        let too_long = "the content of java/lang/Object.class is not in the image";
        assert_eq!(error(image(&[7 << 3, 8])), too_long);
        assert_eq!(error(image(&[5 << 3 | 7, 255, 255, 255, 255, 255, 255, 255, 255])), too_long);
        assert_eq!(
            error(image(&[6 << 3, 1])),
            "java/lang/Object.class is compressed, which is not supported"
        );
        assert!(error(image(&[4 << 3, 99])).starts_with("the name of the resource"));
        assert!(error(vec![0; 40]).starts_with("this is not a little-endian image"));
        let mut newer = image(&[]);
        newer[6] = 2;
        assert_eq!(error(newer), "version 2.0 of the image format is unknown");
    }

    #[test]
    fn a_broken_image_does_no_harm() {
        let whole = image(&[5 << 3, 0, 7 << 3, 7]);
        for len in 0..whole.len() - CONTENT.len() {
            assert!(only(whole[..len].to_vec()).is_err(), "cut at {len}");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(image) = Image::parse(flipped) {
                // Errors and odd names are fine; panics and endless lists are not.
                assert!(image.resources().take(1000).count() <= 1000);
            }
        }
    }
}
