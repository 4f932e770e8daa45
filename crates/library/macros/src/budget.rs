//! `#[heapwise::budget(allocations = 3, bytes = "4 KiB", peak = "1 MiB")]`.

use bytesize::ByteSize;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprLit, Ident, ItemFn, Lit, ReturnType, Safety, Token, UnOp};

/// The limits that there are, and whether their numbers are bytes.
const KEYS: &[(&str, bool)] = &[("allocations", false), ("bytes", true), ("peak", true)];

/// One of the arguments.
struct Argument {
    key: Ident,
    value: Expr,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![=]>()?;
        Ok(Self { key, value: input.parse()? })
    }
}

/// The function, with its body in a closure that is checked.
pub(crate) fn expand(arguments: TokenStream, function: TokenStream) -> syn::Result<TokenStream> {
    let budget = budget(arguments)?;
    let not_a_function =
        |error: Error| Error::new(error.span(), format!("a budget is for functions with a body: {error}"));
    let ItemFn { attrs, vis, sig, block, .. } = syn::parse2(function).map_err(not_a_function)?;
    if let Some(constness) = &sig.constness {
        return Err(Error::new(
            constness.span(),
            "a const fn cannot have a budget: it may run in the compiler",
        ));
    }
    if !matches!(sig.safety, Safety::Default) {
        return Err(Error::new(
            sig.fn_token.span(),
            "an unsafe fn cannot have a budget; put an `assert_allocations!` into its body",
        ));
    }
    let body = if sig.asyncness.is_some() {
        quote! { #budget.assert_future(async move #block).await }
    } else {
        // Where the type has no name, the compiler finds it.
        let output = match &sig.output {
            ReturnType::Type(_, of) if !has_impl(&quote!(#of)) => {
                let output = &sig.output;
                quote!(#output)
            }
            _ => TokenStream::new(),
        };
        quote! { #budget.assert(move || #output #block) }
    };
    Ok(quote! { #(#attrs)* #vis #sig { #body } })
}

/// The expression that makes the budget.
fn budget(arguments: TokenStream) -> syn::Result<TokenStream> {
    let given = Punctuated::<Argument, Token![,]>::parse_terminated.parse2(arguments)?;
    if given.is_empty() {
        let example = "expected a limit, such as `#[heapwise::budget(allocations = 3, bytes = \"4 KiB\")]`";
        return Err(Error::new(proc_macro2::Span::call_site(), example));
    }
    let mut budget = quote! { ::heapwise::budget::Budget::new() };
    let mut seen: Vec<&Ident> = Vec::new();
    for Argument { key, value } in &given {
        let Some((_, is_bytes)) = KEYS.iter().find(|(known, _)| key == known) else {
            let known: Vec<String> = KEYS.iter().map(|(known, _)| format!("`{known}`")).collect();
            return Err(Error::new(
                key.span(),
                format!("unknown limit `{key}`; there are {}", known.join(", ")),
            ));
        };
        if seen.contains(&key) {
            return Err(Error::new(key.span(), format!("`{key}` is given twice")));
        }
        seen.push(key);
        let limit = limit(value, *is_bytes)?;
        let method = Ident::new(&key.to_string(), key.span());
        budget.extend(quote_spanned! { key.span() => .#method(#limit) });
    }
    Ok(budget)
}

/// A number; a text with a unit for bytes; or any expression, such as the name of a constant.
fn limit(value: &Expr, is_bytes: bool) -> syn::Result<TokenStream> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => {
            let number: u64 = number.base10_parse()?;
            Ok(quote_spanned! { value.span() => #number })
        }
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if is_bytes => {
            match text.value().parse::<ByteSize>() {
                Ok(bytes) => {
                    let bytes = bytes.as_u64();
                    Ok(quote_spanned! { value.span() => #bytes })
                }
                Err(_) => Err(Error::new(
                    text.span(),
                    format!(
                        "{:?} is no number of bytes; write it as \"512\", \"4 KiB\", \"1.5 MiB\" or \"10 MB\"",
                        text.value()
                    ),
                )),
            }
        }
        Expr::Lit(_) if is_bytes => {
            Err(Error::new(value.span(), "expected a number of bytes, such as 4096 or \"4 KiB\""))
        }
        Expr::Lit(_) => Err(Error::new(value.span(), "expected a number, such as 3")),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            Err(Error::new(value.span(), "a limit cannot be negative"))
        }
        other => Ok(quote! { #other }),
    }
}

/// Whether `impl Trait` is somewhere in a type.
fn has_impl(of: &TokenStream) -> bool {
    of.clone().into_iter().any(|token| match token {
        proc_macro2::TokenTree::Ident(ident) => ident == "impl",
        proc_macro2::TokenTree::Group(group) => has_impl(&group.stream()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the compiler would say, and about which text.
    fn error(arguments: &str, function: &str) -> (String, String) {
        let error = expand(arguments.parse().expect("tokens"), function.parse().expect("tokens"))
            .expect_err("it is wrong");
        let place = error.span().source_text().unwrap_or_default();
        (error.to_string(), place)
    }

    fn expanded(arguments: &str, function: &str) -> String {
        let tokens = expand(arguments.parse().expect("tokens"), function.parse().expect("tokens"));
        tokens.expect("it is right").to_string()
    }

    #[test]
    fn bytes_have_units() {
        for (text, bytes) in [
            ("4096", 4096u64),
            ("\"4 KiB\"", 4096),
            ("\"4KiB\"", 4096),
            ("\"1.5 MiB\"", 3 << 19),
            ("\"10 MB\"", 10_000_000),
            ("\"17\"", 17),
        ] {
            let code = expanded(&format!("bytes = {text}"), "fn f() {}");
            assert!(code.contains(&format!("bytes ({bytes}u64)")), "{text}: {code}");
        }
        assert!(expanded("peak = limits::PEAK", "fn f() {}").contains(". peak (limits :: PEAK)"));
    }

    #[test]
    fn wrong_arguments_are_reported_where_they_are() {
        let function = "fn f() {}";
        let (message, place) = error("allocation = 3", function);
        assert_eq!(message, "unknown limit `allocation`; there are `allocations`, `bytes`, `peak`");
        assert_eq!(place, "allocation");
        assert_eq!(
            error("allocations = -3", function),
            ("a limit cannot be negative".to_owned(), "-3".to_owned())
        );
        let (message, place) = error("bytes = \"4 apples\"", function);
        assert!(message.starts_with("\"4 apples\" is no number of bytes; write it as"), "{message}");
        assert_eq!(place, "\"4 apples\"");
        assert!(error("bytes = \"-4 KiB\"", function).0.contains("is no number of bytes"));
        assert_eq!(error("allocations = \"3\"", function).0, "expected a number, such as 3");
        assert_eq!(error("peak = 1.5", function).0, "expected a number of bytes, such as 4096 or \"4 KiB\"");
        assert_eq!(error("bytes = 1, bytes = 2", function).0, "`bytes` is given twice");
        assert!(error("", function).0.starts_with("expected a limit, such as"));
        assert!(error("allocations = 99999999999999999999", function).0.contains("number too large"));
        assert!(error("allocations: 3", function).0.contains("expected `=`"));
    }

    #[test]
    fn functions_that_cannot_have_a_budget_say_why() {
        assert!(error("bytes = 1", "const fn f() {}").0.starts_with("a const fn cannot"));
        assert!(error("bytes = 1", "unsafe fn f() {}").0.starts_with("an unsafe fn cannot"));
        assert!(error("bytes = 1", "struct S;").0.starts_with("a budget is for functions with a body"));
        assert!(error("bytes = 1", "fn f();").0.starts_with("a budget is for functions with a body"));
    }

    #[test]
    fn the_rest_of_the_function_stays() {
        let code = expanded(
            "allocations = 1",
            "#[test] #[should_panic] pub(crate) fn f<T: Copy>(x: T) -> Result<T, E> { Ok(x) }",
        );
        assert!(
            code.starts_with(
                "# [test] # [should_panic] pub (crate) fn f < T : Copy > (x : T) -> Result < T , E > {"
            ),
            "{code}"
        );
        assert!(code.contains("move || -> Result < T , E > { Ok (x) }"), "{code}");
        assert!(
            expanded("bytes = 1", "fn f() -> impl Iterator<Item = u8> { [].into_iter() }")
                .contains("move || {")
        );
        assert!(expanded("bytes = 1", "async fn f() { g().await }").contains("assert_future (async move {"));
    }
}
