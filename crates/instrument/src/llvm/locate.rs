//! Finds the libLLVM that belongs to a rustc.
//!
//! A machine may hold several libLLVMs. The right one is the one rustc's own driver library
//! needs, in the same sysroot.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Endianness, ReadCache, elf};

use super::Error;

/// The libLLVM that `<sysroot>/lib/librustc_driver-*.so` needs.
pub fn locate_llvm(sysroot: &Path) -> Result<PathBuf, Error> {
    let directory = sysroot.join("lib");
    let driver = entries(&directory)?
        .into_iter()
        .find(|path| {
            file_name(path)
                .is_some_and(|name| name.starts_with("librustc_driver-") && name.ends_with(".so"))
        })
        .ok_or_else(|| Error::NoDriver(directory.clone()))?;
    let file = File::open(&driver).map_err(|error| Error::Read {
        path: driver.clone(),
        error,
    })?;
    needed(&ReadCache::new(file))
        .ok_or_else(|| Error::NoLlvm(driver.clone()))?
        .into_iter()
        .find(|name| name.starts_with("libLLVM"))
        .map(|name| directory.join(name))
        .filter(|path| path.exists())
        .ok_or(Error::NoLlvm(driver))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = |error| Error::Read {
        path: directory.to_owned(),
        error,
    };
    let mut paths = std::fs::read_dir(directory)
        .map_err(read)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(read)?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The `DT_NEEDED` names of an ELF file, of which only the parts needed are read.
fn needed(data: &ReadCache<File>) -> Option<Vec<String>> {
    let header = elf::FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (entries, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    let names = entries
        .iter()
        .filter(|entry| entry.tag(endian) == elf::DT_NEEDED);
    let names = names.filter_map(|entry| {
        let name = strings.get(u32::try_from(entry.val(endian)).ok()?).ok()?;
        Some(String::from_utf8_lossy(name).into_owned())
    });
    Some(names.collect())
}
