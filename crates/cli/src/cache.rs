//! The user's cache directory: per version of the tool and per toolchain it holds the compiled
//! runtime, the links by which cargo calls us, and instrumented objects.
//!
//! ```text
//! <cache>/
//!     <version>-<hash of sources>/<rustc release>-<commit>/
//!         runtime/    libraddle_runtime.so, hooks.bc; appears whole
//!         bin/        links to this executable
//!         lock        held while the runtime is compiled
//!     objects-<hash of the instrumentation's sources>/<rustc release>-<commit>/
//!                     instrumented objects by content hash
//!     commands/       what the user has given to `test` (see `known_commands`)
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use raddle_instrument::WorkLock;

use crate::console::say_note;
use crate::embedded;
use crate::exit::{Exit, Failure, OrExit};
use crate::file::{link_whole, temporary_beside};
use crate::personality;
use crate::toolchain::Toolchain;

/// Overrides the place of the cache.
const VARIABLE: &str = "RADDLE_CACHE";

/// This toolchain's part of the cache, complete.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
    objects: PathBuf,
}

impl Cache {
    /// Makes sure that everything is there. `announce` is called if that will take a while.
    pub(crate) fn prepare(toolchain: &Toolchain, announce: impl FnOnce()) -> Result<Self, Failure> {
        let version = format!("{}-{}", env!("CARGO_PKG_VERSION"), embedded::HASH);
        let root = root()?;
        let objects = format!("objects-{}", embedded::OBJECTS_HASH);
        let cache = Self {
            directory: root.join(version).join(toolchain.directory_name()),
            objects: root.join(objects).join(toolchain.directory_name()),
        };
        cache.fill(toolchain, announce).or_exit(Exit::Unsupported)?;
        Ok(cache)
    }

    /// Where the compiled runtime is.
    pub(crate) fn runtime(&self) -> PathBuf {
        self.directory.join("runtime")
    }

    /// Where instrumented objects are kept.
    pub(crate) fn objects(&self) -> &Path {
        &self.objects
    }

    /// The link through which we are the program with this name.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.directory.join("bin").join(name)
    }

    fn fill(&self, toolchain: &Toolchain, announce: impl FnOnce()) -> anyhow::Result<()> {
        let bin = self.directory.join("bin");
        for directory in [&bin, &self.objects] {
            fs::create_dir_all(directory).with_context(|| cannot_use(directory))?;
        }
        let own = std::env::current_exe().context("cannot find our own executable")?;
        for name in personality::NAMES {
            let link = bin.join(name);
            link_whole(&link, &own).with_context(|| cannot_use(&link))?;
        }
        if self.runtime().is_dir() {
            return Ok(());
        }
        announce();
        self.compile(toolchain)
    }

    /// Compiles the runtime; of several processes at the same time one does it.
    fn compile(&self, toolchain: &Toolchain) -> anyhow::Result<()> {
        let path = self.directory.join("lock");
        // Without it the runtime may be compiled twice, which does no harm.
        let _lock = WorkLock::acquire(&path, "the runtime", say_note);
        if self.runtime().is_dir() {
            return Ok(());
        }
        let temporary = temporary_beside(&self.runtime());
        remove(&temporary)?;
        fs::create_dir(&temporary).with_context(|| cannot_use(&temporary))?;
        let compiled = embedded::compile(toolchain, &temporary);
        if compiled.is_err() {
            remove(&temporary)?;
        }
        compiled?;
        let renamed = fs::rename(&temporary, self.runtime());
        if renamed.is_err() && self.runtime().is_dir() {
            // Another process was as fast.
            return remove(&temporary);
        }
        renamed.with_context(|| cannot_use(&self.runtime()))
    }
}

/// The cache of all versions.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let directory = variable(VARIABLE)
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&variable("XDG_CACHE_HOME")?).join("raddle")))
        .or_else(|| Some(Path::new(&variable("HOME")?).join(".cache/raddle")));
    let Some(directory) = directory else {
        return Err(Failure::new(
            Exit::Unsupported,
            format!("there is no home directory for the cache: set {VARIABLE} to a directory"),
        ));
    };
    std::path::absolute(&directory)
        .with_context(|| cannot_use(&directory))
        .or_exit(Exit::Unsupported)
}

fn remove(directory: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| cannot_use(directory))
        }
        _ => Ok(()),
    }
}

fn cannot_use(path: &Path) -> String {
    format!(
        "cannot use {} in the cache directory (set {VARIABLE} to another one)",
        path.display()
    )
}
