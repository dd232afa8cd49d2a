//! What cargo knows about the workspace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use raddle_report::Sources;
use serde::Deserialize;

use crate::cargo_flags::CargoFlags;
use crate::cargo_locks;
use crate::exit::{Exit, Failure, OrExit};
use crate::toolchain::TARGET;

/// Directory of kept schedules, in the workspace or beside a program.
pub(crate) const REGRESSIONS: &str = "raddle-regressions";

/// The part of `cargo metadata` that we read.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Metadata {
    /// Root directory of the workspace.
    pub workspace_root: PathBuf,
    /// Where cargo builds; `--target-dir` is taken into account.
    pub target_directory: PathBuf,
    /// Ids of the workspace's packages.
    pub workspace_members: Vec<String>,
    /// All packages, dependencies included.
    pub packages: Vec<Package>,
    /// How they are built.
    #[serde(default)]
    pub resolve: Option<Resolve>,
}

/// How packages are built.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Resolve {
    /// One entry per package.
    pub nodes: Vec<Node>,
}

/// How one package is built.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Node {
    /// The package.
    pub id: String,
    /// Its features that are on.
    #[serde(default)]
    pub features: Vec<String>,
    /// What it depends on.
    #[serde(default)]
    pub deps: Vec<NodeDependency>,
}

/// What a package depends on.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NodeDependency {
    /// Its name in paths.
    pub name: String,
    /// The package.
    pub pkg: String,
    /// What for.
    #[serde(default)]
    pub dep_kinds: Vec<DependencyKind>,
}

/// What a package depends on another for.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DependencyKind {
    /// `dev` or `build`; nothing for the package itself.
    pub kind: Option<String>,
}

/// One package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    /// Cargo's id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Path of its Cargo.toml.
    pub manifest_path: PathBuf,
    /// Where it comes from; nothing for a directory.
    #[serde(default)]
    pub source: Option<String>,
    /// What it consists of.
    #[serde(default)]
    pub targets: Vec<PackageTarget>,
}

/// A part of a package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PackageTarget {
    /// Its name.
    pub name: String,
    /// `lib`, `bin`, ...
    pub kind: Vec<String>,
}

impl Package {
    /// The name of its library in paths.
    pub(crate) fn library(&self) -> Option<String> {
        const KINDS: [&str; 3] = ["lib", "rlib", "dylib"];
        let is_library =
            |target: &&PackageTarget| target.kind.iter().any(|kind| KINDS.contains(&&**kind));
        let library = self.targets.iter().find(is_library)?;
        Some(library.name.replace('-', "_"))
    }
}

/// The cargo that called us, else the one in PATH.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

impl Metadata {
    /// Whether a crate with this name belongs to the workspace itself.
    pub(crate) fn is_own_crate(&self, name: &str) -> bool {
        let is_member = |package: &&Package| self.workspace_members.contains(&package.id);
        let mut targets = self
            .packages
            .iter()
            .filter(is_member)
            .flat_map(|package| &package.targets);
        targets.any(|target| target.name.replace('-', "_") == name)
    }

    /// Asks cargo. Its own message is shown if it does not like the workspace.
    pub(crate) fn load(flags: &CargoFlags) -> Result<Self, Failure> {
        let child = Command::new(cargo())
            .args([
                "metadata",
                "--format-version",
                "1",
                "--filter-platform",
                TARGET,
            ])
            .args(flags.common())
            .args(flags.features())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run cargo; install Rust with rustup")
            .or_exit(Exit::Unsupported)?;
        let output = cargo_locks::watch(child.id(), || child.wait_with_output())?
            .context("cannot wait for cargo")
            .or_exit(Exit::Unsupported)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let message = stderr.trim().trim_start_matches("error: ").to_owned();
            return Err(Failure::new(Exit::ProgramBroken, message));
        }
        let mut metadata: Self = serde_json::from_slice(&output.stdout)
            .context("cannot read the output of `cargo metadata`")
            .or_exit(Exit::Unsupported)?;
        if let Some(directory) = &flags.target_dir {
            metadata.target_directory = std::path::absolute(directory)
                .context("the target directory has no name")
                .or_exit(Exit::Usage)?;
        }
        Ok(metadata)
    }

    /// Where results are kept.
    pub(crate) fn results(&self) -> PathBuf {
        self.target_directory.join("raddle")
    }

    /// Where kept schedules are.
    pub(crate) fn regressions(&self) -> PathBuf {
        self.workspace_root.join(REGRESSIONS)
    }

    /// The package with this id.
    pub(crate) fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// The package whose library has this name in paths: one of the workspace, else the newest.
    pub(crate) fn library(&self, name: &str) -> Option<&Package> {
        let packages = self.packages.iter();
        let found = packages.filter(|package| package.library().as_deref() == Some(name));
        found.max_by_key(|package| {
            let is_member = self.workspace_members.contains(&package.id);
            let numbers = package.version.split(['.', '-', '+']);
            let numbers: Vec<u64> = numbers.map(|part| part.parse().unwrap_or(0)).collect();
            (is_member, numbers)
        })
    }

    fn node(&self, id: &str) -> Option<&Node> {
        let mut nodes = self.resolve.iter().flat_map(|resolve| &resolve.nodes);
        nodes.find(|node| node.id == id)
    }

    /// The features of a package that are on.
    pub(crate) fn features(&self, id: &str) -> &[String] {
        self.node(id).map_or(&[], |node| &node.features)
    }

    /// What a package and its tests depend on, by names in paths.
    pub(crate) fn dependencies(&self, id: &str) -> Vec<(&str, &Package)> {
        let all = self.node(id).into_iter().flat_map(|node| &node.deps);
        let is_used = |one: &&NodeDependency| {
            let mut kinds = one.dep_kinds.iter();
            kinds.any(|kind| kind.kind.as_deref() != Some("build"))
        };
        all.filter(is_used)
            .filter_map(|one| Some((one.name.as_str(), self.package(&one.pkg)?)))
            .collect()
    }

    /// Whether target names have to say which package they belong to.
    pub(crate) fn has_several_members(&self) -> bool {
        self.workspace_members.len() > 1
    }

    /// Where the sources that findings name are.
    pub(crate) fn sources(&self, library: Option<&Path>) -> Sources {
        let mut sources = Sources::new(&self.workspace_root);
        for package in &self.packages {
            if let Some(directory) = package.manifest_path.parent() {
                let name = format!("{}-{}", package.name, package.version);
                sources.add_package(name, directory);
            }
        }
        if let Some(library) = library {
            sources.set_library(library);
        }
        sources
    }
}
