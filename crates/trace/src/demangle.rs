//! Symbols of Rust and C++ as people write them.

/// The demangled name, without hash, parameters and result; C names stay as they are.
/// Generic and template arguments are kept.
pub fn demangle(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        return format!("{name:#}");
    }
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let name = cpp_demangle::Symbol::new(symbol)
        .ok()
        .filter(|_| symbol.starts_with("_Z"))
        .and_then(|name| name.demangle_with_options(&options).ok());
    name.unwrap_or_else(|| symbol.to_owned())
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn every_language_has_its_names() {
        for (symbol, name) in [
            (
                "_ZN4core9panicking5panic17h0123456789abcdefE",
                "core::panicking::panic",
            ),
            ("_ZN5store5Queue4pushEi", "store::Queue::push"),
            ("_ZN5store7counterE", "store::counter"),
            (
                "_ZNSt6vectorIiSaIiEE9push_backEOi",
                "std::vector<int, std::allocator<int> >::push_back",
            ),
            ("pthread_create", "pthread_create"),
            ("_Zfoo", "_Zfoo"),
        ] {
            assert_eq!(demangle(symbol), name);
        }
    }
}
