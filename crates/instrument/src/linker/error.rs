//! Why a link cannot be done.

use std::io;
use std::path::PathBuf;

impl Error {
    /// Whether the machine is to blame, and not the program.
    pub(super) fn is_machines(&self) -> bool {
        let is_lack = |error: &io::Error| {
            matches!(
                error.raw_os_error(),
                Some(
                    libc::ENOSPC
                        | libc::EDQUOT
                        | libc::EFBIG
                        | libc::EMFILE
                        | libc::ENFILE
                        | libc::ENOMEM
                        | libc::EAGAIN
                )
            )
        };
        match self {
            Self::Machine { .. } => true,
            Self::File { error, .. } | Self::Linker { error, .. } | Self::Fork(error) => {
                is_lack(error)
            }
            _ => false,
        }
    }
}

/// What ends a link before the real linker runs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An environment variable that the tool sets is missing.
    #[error("{0} is not set: raddle-linker works only when called by cargo raddle")]
    NotOurs(&'static str),
    /// A statically linked program has no place for the runtime.
    #[error(
        "{} is linked statically; Raddle needs the dynamic C library: remove `-C target-feature=+crt-static`", .0.display()
    )]
    Static(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {error}", path.display())]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Response files name each other without end.
    #[error("the response file {} names itself", .0.display())]
    Nested(PathBuf),
    /// An archive is damaged.
    #[error("cannot read the archive {}: {message}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A module can be compiled neither with hooks nor without.
    #[error("cannot compile {module}: {reason}")]
    Module {
        /// The module.
        module: String,
        /// What LLVM said.
        reason: String,
    },
    /// The machine refuses what it takes to instrument a module.
    #[error(
        "cannot instrument {module} for lack of memory, stack, file size or disk space, which \
         `doctor` checks: {reason}"
    )]
    Machine {
        /// The module.
        module: String,
        /// What the system said.
        reason: String,
    },
    /// The real linker cannot be started.
    #[error("cannot run the linker `{}`: {error}", linker.display())]
    Linker {
        /// The linker.
        linker: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A process cannot be made.
    #[error("cannot start a process to instrument in: {0}")]
    Fork(io::Error),
    /// LLVM cannot be used.
    #[error(transparent)]
    Llvm(#[from] crate::llvm::Error),
}
