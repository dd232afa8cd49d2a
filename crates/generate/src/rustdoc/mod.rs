//! Reads what rustdoc says about a crate in JSON, whose format changes with the compiler: the
//! version is looked at first, and each known one has a file here.

mod v57;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::model::Crate;

/// Why a crate cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RustdocError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no such description.
    #[error("{path} is not what rustdoc writes: {source}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The compiler is newer or older than what is known here.
    #[error(
        "this rustdoc writes format {found}, and this version of raddle reads {known}: \
         use another toolchain or another version of raddle"
    )]
    Version {
        /// What was found.
        found: u32,
        /// What would be understood.
        known: &'static str,
    },
}

#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// Reads the description of the crate with this name in paths.
///
/// # Errors
///
/// If there is none, or none that is understood.
pub fn read(path: &Path, name: &str) -> Result<Crate, RustdocError> {
    let bytes = std::fs::read(path).map_err(|source| RustdocError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&bytes, name).map_err(|error| match error {
        ParseError::Json(source) => RustdocError::Format {
            path: path.to_owned(),
            source,
        },
        ParseError::Version(found) => RustdocError::Version { found, known: "57" },
    })
}

enum ParseError {
    Json(serde_json::Error),
    Version(u32),
}

impl From<serde_json::Error> for ParseError {
    fn from(error: serde_json::Error) -> Self {
        Self::Json(error)
    }
}

fn parse(bytes: &[u8], name: &str) -> Result<Crate, ParseError> {
    let Version { format_version } = serde_json::from_slice(bytes)?;
    match format_version {
        57 => Ok(v57::convert(&serde_json::from_slice(bytes)?, name)),
        other => Err(ParseError::Version(other)),
    }
}
