//! Reads files that others may have put where we look: only regular ones, and none without end.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Bytes of the largest file that people write or keep: configuration, schedules, findings.
pub const LARGEST: u64 = 64 << 20;

/// Reads a regular file of at most `largest` bytes; links to one are followed.
///
/// # Errors
///
/// If it cannot be read, is no regular file, or is larger. Never waits for a writer.
pub fn read_file(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    check_is_file(&fs::metadata(path)?)?;
    let file = OpenOptions::new()
        .read(true)
        // What stands there may have been replaced by a FIFO in between.
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    check_is_file(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(largest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        let most = largest >> 20;
        return Err(refused(&format!("it is larger than {most} MiB")));
    }
    Ok(bytes)
}

/// The same for text.
///
/// # Errors
///
/// As [`read_file`], or if it is not UTF-8.
pub fn read_text(path: &Path, largest: u64) -> io::Result<String> {
    String::from_utf8(read_file(path, largest)?).map_err(|_| refused("it is not UTF-8 text"))
}

/// Refuses everything but regular files, in words.
///
/// # Errors
///
/// If it is something else.
pub fn check_is_file(metadata: &fs::Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(refused(&format!("it is {what}, not a file")))
}

fn refused(sentence: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> String {
        read_file(path, 8).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_of_some_size_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("small"), "12345678").unwrap();
        assert_eq!(read_text(&path("small"), 8).unwrap(), "12345678");
        fs::write(path("large"), "123456789").unwrap();
        assert!(reason(&path("large")).contains("larger than"));
        fs::write(path("binary"), [0xff]).unwrap();
        assert!(read_text(&path("binary"), 8).is_err());
        assert_eq!(reason(directory.path()), "it is a directory, not a file");
        let name = std::ffi::CString::new(path("fifo").to_str().unwrap()).unwrap();
        // SAFETY: a NUL-terminated path.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(reason(&path("fifo")), "it is a FIFO, not a file");
        std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
        assert_eq!(reason(&path("endless")), "it is a device, not a file");
        let missing = read_file(&path("missing"), 8).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
