//! The fuzz target: libFuzzer makes texts from the corpus's, and each must hold what [`telamon_fuzz::check`] demands.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| telamon_fuzz::check(data));
