//! Instruments programs that pass what hooks do not expect: no module may be refused for it.

use super::tests::{compile, hook_bodies, load_llvm};
use super::{Options, Origin, instrument};

/// A function that is known by its name may have other parameters in another version.
#[test]
fn what_is_known_by_name_may_take_anything() {
    load_llvm();
    let selves = [
        ("&self", "usize", "0"),
        ("self", "usize", "0"),
        ("self", "f64", "0.0"),
        ("self", "u128", "0"),
        ("self", "[u64; 9]", "[0; 9]"),
        ("self", "(u32, f32)", "(0, 0.0)"),
        ("self", "*const u8", "std::ptr::null()"),
        ("self", "()", "()"),
    ];
    for (own, field, value) in selves {
        let locks = format!(
            "pub struct RawMutex(pub {field});
            impl RawMutex {{
                #[inline(never)] pub fn lock_slow({own}) -> bool {{ std::hint::black_box(&self); true }}
            }}"
        );
        let parking = format!(
            "pub mod raw_mutex {{ {locks} }} pub fn f() {{ raw_mutex::RawMutex({value}).lock_slow(); }}"
        );
        let hook = format!(
            "pub struct Hook(pub {field});
            impl Hook {{
                #[inline(never)] pub fn fire_send({own}, message: u8) -> u8 {{ std::hint::black_box(&self); message }}
                #[inline(never)] pub fn try_take({own}) -> [u64; 7] {{ std::hint::black_box(&self); [0; 7] }}
            }}
            pub fn f() {{ Hook({value}).fire_send(1); Hook({value}).try_take(); }}"
        );
        let zero = format!(
            "pub mod waker {{
                pub struct Waker;
                impl Waker {{
                    #[inline(never)] pub fn register_with_packet(&mut self, operation: usize, packet: {field}) {{
                        std::hint::black_box((operation, packet));
                    }}
                }}
            }}
            pub mod flavors {{ pub mod zero {{
                pub struct Token {{ pub zero: {field} }}
                pub struct Channel;
                impl Channel {{
                    pub fn send(&self) {{ (|| crate::waker::Waker.register_with_packet(1, {value}))() }}
                    #[inline(never)] pub fn write(&self, token: Token) {{ std::hint::black_box(token); }}
                    #[inline(never)] pub fn read(token: &Token, number: usize) {{ std::hint::black_box((token, number)); }}
                }}
                pub fn f() {{ Channel.send(); Channel.write(Token {{ zero: {value} }}); Channel::read(&Token {{ zero: {value} }}, 1); }}
            }} }}"
        );
        for (name, source) in [
            ("parking_lot", parking),
            ("flume", hook),
            ("crossbeam_channel", zero),
        ] {
            let bitcode = compile(&source, name, &["-Copt-level=1", "-Cno-prepopulate-passes"]);
            let options = Options::default();
            let done = instrument(&bitcode, name, Origin::Crate, options, hook_bodies(), None);
            assert!(done.is_ok(), "{name}, {own}, {field}: {:?}", done.err());
        }
    }
}
