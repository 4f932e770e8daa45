//! What the fuzz targets share: recordings made of arbitrary parts ([`recording`]), sections with a right checksum
//! around anything ([`frame`]), and reading a recording to its end ([`drain`]).

#![forbid(unsafe_code)]

pub mod drain;
pub mod frame;
pub mod number;
pub mod recording;
pub mod whole;
