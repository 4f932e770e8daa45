//! The reports of a small recording that is made here, through the real writer and the real analysis.

mod html;
mod json;
mod sample;
mod text;
