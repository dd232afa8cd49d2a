//! Whether machine code that nobody instrumented can synchronise threads: by atomic
//! instructions of its own, which no hook sees. What it does through libc is seen.

use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind};
use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionKind};

/// What the names of our hooks begin with.
const HOOKS: &str = "__raddle_";

/// Whether an object, an archive of objects or a library has atomic instructions outside of
/// instrumented code. What cannot be read has none that could be linked.
pub fn synchronises(file: &[u8]) -> bool {
    if let Ok(archive) = ArchiveFile::parse(file) {
        let mut members = archive.members().flatten();
        return members.any(|member| member.data(file).is_ok_and(object_synchronises));
    }
    object_synchronises(file)
}

/// Whether a program or a library has hooks.
pub fn is_instrumented(file: &[u8]) -> bool {
    object::File::parse(file).is_ok_and(|object| has_hooks(&object))
}

/// An object is instrumented as a whole or not at all, and atomic instructions in it stand beside
/// their hooks.
fn has_hooks(object: &object::File<'_>) -> bool {
    object
        .symbols()
        .chain(object.dynamic_symbols())
        .any(|symbol| symbol.name().is_ok_and(|name| name.starts_with(HOOKS)))
}

fn object_synchronises(file: &[u8]) -> bool {
    let Ok(object) = object::File::parse(file) else {
        return false;
    };
    !has_hooks(&object)
        && object
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .any(|section| section.data().is_ok_and(has_atomics))
}

fn has_atomics(code: &[u8]) -> bool {
    let decoder = Decoder::new(64, code, DecoderOptions::NONE);
    decoder.into_iter().any(|instruction| {
        // An exchange with memory needs no prefix.
        let is_exchange = instruction.mnemonic() == Mnemonic::Xchg
            && (0..2).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
        !instruction.is_invalid() && (instruction.has_lock_prefix() || is_exchange)
    })
}

#[cfg(test)]
mod tests {
    use super::has_atomics;

    #[test]
    fn atomic_instructions_are_told_from_others() {
        let atomics: [&[u8]; 3] = [
            &[0xf0, 0x48, 0x0f, 0xb1, 0x0f], // lock cmpxchg [rdi], rcx
            &[0x90, 0xf0, 0x48, 0xff, 0x07], // nop; lock inc qword ptr [rdi]
            &[0x48, 0x87, 0x07],             // xchg [rdi], rax
        ];
        assert!(atomics.into_iter().all(has_atomics));
        let others: [&[u8]; 4] = [
            &[0x48, 0x87, 0xc8],                   // xchg rax, rcx
            &[0xb8, 0xf0, 0x48, 0x0f, 0xb1],       // mov eax, 0xb10f48f0
            &[0x48, 0x89, 0x07, 0x0f, 0xae, 0xf0], // mov [rdi], rax; mfence
            &[],
        ];
        assert!(!others.into_iter().any(has_atomics));
    }
}
