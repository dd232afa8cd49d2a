//! Properties that an object has besides what it is about: read and written as a whole, each under its own lock.

/// Methods that read and write fields of the type `Mutex<..>`.
macro_rules! properties {
    ($($field:ident, $setter:ident: $type:ty;)*) => {
        $(
            /// Reads the property.
            pub fn $field(&self) -> $type {
                crate::lock(&self.$field).clone()
            }

            /// Writes the property, and returns what it was.
            pub fn $setter(&self, value: $type) -> $type {
                std::mem::replace(&mut *crate::lock(&self.$field), value)
            }
        )*
    };
}
