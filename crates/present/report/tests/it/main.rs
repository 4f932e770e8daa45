//! The reports of a small recording that is made here, through the real writer and the real analysis.

mod annotate;
mod diff;
mod html;
mod json;
mod markdown;
mod marks;
mod rendered;
mod sample;
mod snapshot;
mod text;
