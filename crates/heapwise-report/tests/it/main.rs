//! The reports of a small recording that is made here, through the real writer and the real analysis.

mod json;
mod sample;
mod text;
