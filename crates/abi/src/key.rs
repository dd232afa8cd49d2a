//! Keys of names: hashes that the tool, instrumentation and the runtime make alike.

/// 64-bit FNV-1a over parts that are kept apart, with a final mix: keys are stored in files, so
/// the function is fixed here and not left to a library.
#[derive(Clone, Copy, Debug)]
pub struct Key(u64);

impl Key {
    /// Of no parts yet.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a part.
    pub fn add(&mut self, part: &[u8]) {
        for byte in part.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash of the parts so far, unmixed.
    pub const fn so_far(self) -> u64 {
        self.0
    }

    /// Never 0, which means "nothing" elsewhere.
    pub fn finish(self) -> u64 {
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (mixed ^ (mixed >> 33)).max(1)
    }
}

impl Default for Key {
    fn default() -> Self {
        Self::new()
    }
}

/// The key of one name.
pub fn of(name: &[u8]) -> u64 {
    let mut key = Key::new();
    key.add(name);
    key.finish()
}

/// The key of a function's entry, by the function's path: that of its site
/// ([`Site::key`](crate::site::Site::key)), as nothing is inlined when entries are announced.
pub fn of_entry(path: &str) -> u64 {
    let mut key = Key::new();
    key.add(path.as_bytes());
    key.add(crate::site::Operation::Enter.word().as_bytes());
    key.add(&0_u32.to_le_bytes());
    key.finish()
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn parts_of_a_key_are_kept_apart() {
        let key = |parts: &[&str]| {
            let mut key = Key::new();
            parts.iter().for_each(|part| key.add(part.as_bytes()));
            key.finish()
        };
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
    }
}
