//! Shows what the tool finds: it is built and run on every example crate.

use std::fs;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::{repository, setup, shell};

/// Builds the tool and runs it on the examples.
pub fn run() -> Result<()> {
    let tool = setup::tool()?;
    let examples = repository::root().join("examples");
    let mut names = Vec::new();
    for entry in fs::read_dir(&examples).context("examples/ cannot be read")? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let start = Instant::now();
    let mut found = 0;
    for name in &names {
        println!("\n== examples/{name}: cargo raddle test\n");
        let mut command = shell::raddle(&tool, &examples.join(name), ["test", "--target-dir"]);
        command.arg(repository::scratch("demo").join(name));
        match command.status()?.code() {
            Some(0) => {}
            Some(100) => found += 1,
            code => bail!("the tool ended with {code:?} on examples/{name}"),
        }
    }
    let clean = names.len() - found;
    let seconds = start.elapsed().as_secs_f64();
    println!("\n{found} examples with a finding, {clean} without, in {seconds:.0} s");
    Ok(())
}
