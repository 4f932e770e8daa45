//! The attribute and the derive of the library `heapwise`, which exports them again and documents their use.
//!
//! Both only write what a user could write with functions of that library; nothing happens in here but to read arguments
//! and to say what is wrong with them.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod borrow_report;
mod budget;

use proc_macro::TokenStream;

/// Holds a function to a budget of allocations: see `heapwise::budget`.
#[proc_macro_attribute]
pub fn budget(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let function = proc_macro2::TokenStream::from(function);
    match budget::expand(arguments.into(), function.clone()) {
        Ok(tokens) => tokens.into(),
        Err(error) => {
            // With the function as it was, or everything that calls it would be an error, too.
            let mut tokens = error.into_compile_error();
            tokens.extend(function);
            tokens.into()
        }
    }
}

/// Reports which parts of a value are borrowed: see `heapwise::BorrowReport`.
#[proc_macro_derive(BorrowReport, attributes(borrow_report))]
pub fn borrow_report(item: TokenStream) -> TokenStream {
    borrow_report::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
