//! Assembly of a module's own (`global_asm!`, naked functions, `asm` outside of functions in C): it gets no
//! hooks, so that what it does has to be named as unseen.

/// What is known about a module's assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembly {
    /// It has instructions.
    Code,
    /// Some of them are atomic, so that it may synchronise threads.
    Atomic,
}

/// Beginnings of atomic instructions.
const ATOMIC: [&str; 2] = ["lock", "xchg"];

/// What there is among these lines: directives, data and labels are no code.
pub fn look(text: &str) -> Option<Assembly> {
    let mut is_code = false;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line);
        let line = line.split('#').next().unwrap_or(line);
        for statement in line.split(';') {
            let instruction = statement.rsplit(": ").next().unwrap_or(statement).trim();
            let is_directive = instruction.starts_with('.') || instruction.ends_with(':');
            if instruction.is_empty() || is_directive {
                continue;
            }
            if ATOMIC.iter().any(|atomic| instruction.starts_with(atomic)) {
                return Some(Assembly::Atomic);
            }
            is_code = true;
        }
    }
    is_code.then_some(Assembly::Code)
}

#[cfg(test)]
mod tests {
    use super::{Assembly, look};

    #[test]
    fn only_instructions_are_code() {
        for (text, expected) in [
            ("", None),
            (
                ".pushsection .note\n.long 4; .asciz \"a\" # lock\n.popsection\n",
                None,
            ),
            (".globl f\nf:\n", None),
            (
                ".globl f\nf:\n  mov eax, [rdi]\n  ret\n",
                Some(Assembly::Code),
            ),
            ("f: ret", Some(Assembly::Code)),
            ("f:\n lock inc dword ptr [rdi]", Some(Assembly::Atomic)),
        ] {
            assert_eq!(look(text), expected, "{text}");
        }
    }
}
