//! Places in the source, for people.

/// A place without where packages lie on this machine.
pub(crate) fn in_package(place: &str) -> &str {
    let rest = place
        .split_once("/registry/src/")
        .and_then(|(_, rest)| rest.split_once('/'));
    rest.map_or(place, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::in_package;

    #[test]
    fn places_of_packages_begin_with_their_names() {
        let place = "/home/me/.cargo/registry/src/index-0123/spin-0.9.7/src/once.rs:3:1: oh";
        assert_eq!(in_package(place), "spin-0.9.7/src/once.rs:3:1: oh");
        assert_eq!(in_package("src/lib.rs:3:1: oh"), "src/lib.rs:3:1: oh");
    }
}
