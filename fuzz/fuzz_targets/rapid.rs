#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use untorn_fuzz::{BOTH, read_to_end};
use untorn_trace::formats::rapid::Reader;

fuzz_target!(|bytes: &[u8]| {
    for strictness in BOTH {
        let whole = read_to_end(&mut Reader::new(bytes.to_vec(), strictness));
        let stream = Box::new(Cursor::new(bytes.to_vec()));
        assert_eq!(read_to_end(&mut Reader::stream(stream, strictness)), whole);
    }
});
