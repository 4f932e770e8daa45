//! What an analysis says of recordings, from small ones that are made here to those of earlier versions. One program: each more
//! would compile all that the crate is generic over once more.

mod files;
mod follow;
mod golden;
mod hostile;
mod kinds;
mod marks;
mod places;
mod recordings;
mod sampled;
mod sites;
mod small;
