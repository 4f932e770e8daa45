//! `#[derive(heapwise::BorrowReport)]`: walks through the fields of a type.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, Field, Fields, Ident, parse_quote};

/// The implementation of the trait.
pub(crate) fn expand(item: TokenStream) -> syn::Result<TokenStream> {
    let DeriveInput { ident, mut generics, data, .. } = syn::parse2(item)?;
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::heapwise::borrow::BorrowReport));
    }
    let body = match &data {
        Data::Struct(of) => {
            let (pattern, walks) = fields(&of.fields)?;
            quote! { let Self #pattern = self; #walks }
        }
        Data::Enum(of) => {
            let mut arms = TokenStream::new();
            for variant in &of.variants {
                let (pattern, walks) = fields(&variant.fields)?;
                let (name, text) = (&variant.ident, variant.ident.unraw().to_string());
                arms.extend(quote! {
                    Self::#name #pattern => walker.part(#text, |walker| { #walks }),
                });
            }
            match of.variants.is_empty() {
                true => quote! { match *self {} },
                false => quote! { match self { #arms } },
            }
        }
        Data::Union(of) => {
            return Err(Error::new(of.union_token.span, "a union does not say which of its fields it has"));
        }
    };
    let (of_impl, of_type, conditions) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #of_impl ::heapwise::borrow::BorrowReport for #ident #of_type #conditions {
            #[allow(unused_variables)]
            fn walk(&self, walker: &mut ::heapwise::borrow::Walker<'_>) {
                #body
            }
        }
    })
}

/// A pattern that names the fields, and the calls that walk through them.
fn fields(fields: &Fields) -> syn::Result<(TokenStream, TokenStream)> {
    let mut names = Vec::new();
    let mut walks = TokenStream::new();
    // What a newtype has is at the newtype's own place.
    let is_transparent = matches!(fields, Fields::Unnamed(_)) && fields.len() == 1;
    for (at, field) in fields.iter().enumerate() {
        let span = Span::mixed_site().located_at(field.ty.span());
        let variable = format_ident!("field_{at}", span = span);
        let text = match &field.ident {
            Some(name) => name.unraw().to_string(),
            None => at.to_string(),
        };
        let walk = match How::of(field)? {
            How::Skip => None,
            // A type without the trait is an error where the type is written.
            How::Walk => Some(quote_spanned! { field.ty.span() =>
                ::heapwise::borrow::BorrowReport::walk(#variable, walker)
            }),
            How::With(with) => Some(quote_spanned! { with.span() => walker.data((#with)(#variable)) }),
        };
        walks.extend(match walk {
            None => TokenStream::new(),
            Some(walk) if is_transparent => quote! { #walk; },
            Some(walk) => quote! { walker.part(#text, |walker| #walk); },
        });
        names.push((field.ident.clone(), variable));
    }
    let pattern = match fields {
        Fields::Unit => TokenStream::new(),
        Fields::Named(_) => {
            let each = names.iter().map(|(name, variable)| quote! { #name: #variable });
            quote! { { #(#each),* } }
        }
        Fields::Unnamed(_) => {
            let each: Vec<&Ident> = names.iter().map(|(_, variable)| variable).collect();
            quote! { ( #(#each),* ) }
        }
    };
    Ok((pattern, walks))
}

/// What is to be done with a field.
enum How {
    Walk,
    Skip,
    /// A function gives its data.
    With(Box<Expr>),
}

impl How {
    fn of(field: &Field) -> syn::Result<Self> {
        let mut how = Self::Walk;
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("borrow_report")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("skip") {
                    how = Self::Skip;
                    Ok(())
                } else if meta.path.is_ident("with") {
                    how = Self::With(Box::new(meta.value()?.parse()?));
                    Ok(())
                } else {
                    Err(meta.error("expected `skip`, or `with = function` that gives the data of the field"))
                }
            })?;
        }
        Ok(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_and_unions_are_reported() {
        let error = |item: TokenStream| expand(item).expect_err("it is wrong").to_string();
        let message = error(quote! { struct S { #[borrow_report(ignore)] a: u8 } });
        assert!(message.starts_with("expected `skip`"), "{message}");
        assert!(error(quote! { union U { a: u8 } }).starts_with("a union does not say"));
    }

    #[test]
    fn generic_parameters_get_the_bound() {
        let code = expand(quote! { struct S<'a, T> { r#type: &'a T } }).expect("it is right").to_string();
        assert!(code.contains("impl < 'a , T : :: heapwise :: borrow :: BorrowReport >"), "{code}");
        assert!(code.contains("\"type\""), "{code}");
    }
}
