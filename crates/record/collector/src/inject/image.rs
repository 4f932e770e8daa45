//! What is written into a program.

use heapwise_trace::live::plan::FrameTable;

/// The recorder as an image, and what is known of the program that it is written into.
#[derive(Debug)]
pub struct Image {
    /// The file.
    pub file: &'static [u8],
    /// The program's frame descriptions, if its own file has no table of them.
    pub frames: Option<FrameTable>,
}
