//! `raddle.toml` at the workspace root.

use std::path::{Path, PathBuf};

use raddle_abi::finding::Kind;
use raddle_campaign::{IgnoreRule, LARGEST, Overrides, read_text};
use serde::Deserialize;

use crate::exit::{Exit, Failure};
use crate::settings::{OutputOptions, RunOptions};

/// Name of the file.
pub(crate) const FILE_NAME: &str = "raddle.toml";

/// What the file says.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// Options of a run.
    pub run: RunOptions,
    /// Options of the output.
    pub output: OutputOptions,
    /// What is not as types say it, for prediction.
    pub predict: Overrides,
    /// What generated tests need.
    pub generate: GenerateOptions,
    /// Findings the user does not want to hear about.
    pub ignore: Vec<IgnoreRule>,
    /// Methods whose results are not checked.
    pub relax: Vec<RelaxRule>,
}

/// One `[[relax]]`: a method of a type that promises less than that its results follow some order of the calls.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct RelaxRule {
    /// The type, as `generate` is given it, without its arguments.
    #[serde(rename = "type")]
    pub subject: String,
    /// The operation, as `--list` names it.
    pub method: String,
    /// Why its results are not checked.
    pub reason: String,
}

impl RelaxRule {
    fn checked(self) -> Result<Self, String> {
        match self.reason.trim().is_empty() {
            true => Err("the reason is empty; say what the method promises instead".to_owned()),
            false => Ok(self),
        }
    }

    /// Whether it is about the type with this name.
    pub(crate) fn is_about(&self, subject: &str) -> bool {
        let path = |name: &str| name.split('<').next().unwrap_or(name).trim().to_owned();
        path(&self.subject) == path(subject)
    }
}

/// What `[generate]` says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerateOptions {
    /// The file with values, constructors and operations of the user, from the workspace's root on.
    pub harness: Option<PathBuf>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    test: RunOptions,
    #[serde(default)]
    output: OutputOptions,
    #[serde(default)]
    predict: Overrides,
    #[serde(default)]
    generate: GenerateOptions,
    #[serde(default)]
    ignore: Vec<Ignore>,
    #[serde(default)]
    relax: Vec<RelaxRule>,
}

/// One `[[ignore]]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ignore {
    id: Option<String>,
    kind: Option<String>,
    function: Option<String>,
    reason: String,
}

impl Config {
    /// Reads the file of this workspace; without one everything is left open.
    pub(crate) fn load(workspace: &Path) -> Result<Self, Failure> {
        let path = workspace.join(FILE_NAME);
        match read_text(&path, LARGEST) {
            Ok(text) => Self::parse(&text)
                .map_err(|sentence| Failure::new(Exit::Usage, format!("{FILE_NAME}{sentence}"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Failure::new(
                Exit::Usage,
                format!("cannot read {}: {error}", path.display()),
            )),
        }
    }

    /// The error continues a sentence that begins with the file's name.
    fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| {
                let before = text.get(..span.start).unwrap_or_default();
                before.matches('\n').count() + 1
            });
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            format!("{line}: {}", error.message().replace('\n', "; "))
        })?;
        let rules = file.ignore.into_iter().enumerate();
        let ignore = rules.map(|(index, rule)| {
            rule.checked()
                .map_err(|sentence| format!(": [[ignore]] number {}: {sentence}", index + 1))
        });
        let relaxed = file.relax.into_iter().enumerate();
        let relax = relaxed.map(|(index, rule)| {
            rule.checked()
                .map_err(|sentence| format!(": [[relax]] number {}: {sentence}", index + 1))
        });
        Ok(Self {
            relax: relax.collect::<Result<_, _>>()?,
            run: file.test,
            output: file.output,
            predict: file.predict,
            generate: file.generate,
            ignore: ignore.collect::<Result<_, _>>()?,
        })
    }
}

impl Ignore {
    fn checked(self) -> Result<IgnoreRule, String> {
        if self.reason.trim().is_empty() {
            return Err("the reason is empty; say why it is ignored".to_owned());
        }
        let kind = match &self.kind {
            None => None,
            Some(word) => Some(Kind::from_word(word).ok_or_else(|| {
                let words: Vec<_> = Kind::ALL.iter().map(|kind| kind.word()).collect();
                format!(
                    "there is no kind `{word}`; the kinds are {}",
                    words.join(", ")
                )
            })?),
        };
        match (&self.id, kind, &self.function) {
            (Some(_), None, None) | (None, Some(_), Some(_)) => Ok(IgnoreRule {
                id: self.id,
                kind,
                function: self.function,
                reason: self.reason,
            }),
            _ => Err("give either an id, or a kind and a function".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Config;
    use raddle_abi::finding::Kind;

    fn error(text: &str) -> String {
        Config::parse(text).unwrap_err()
    }

    #[test]
    fn rules_and_options_are_read() {
        let config = Config::parse(
            "[test]\nseed = 7\nstrategy = 'pct(2)'\n\
             [generate]\nharness = 'tests/raddle.rs'\n[predict]\nunits = ['a::free']\n[[predict.set]]\ntype = 'a::B'\nfields = ['c']\n\
             [[relax]]\ntype = 'a::Tree'\nmethod = 'depth'\nreason = 'lazy'\n\
             [[ignore]]\nid = 'panic-0123456789'\nreason = 'known'\n\
             [[ignore]]\nkind = 'data-race'\nfunction = 'a::*'\nreason = 'by design'\n",
        )
        .unwrap();
        assert_eq!(config.run.seed, Some(7));
        assert_eq!(config.generate.harness, Some("tests/raddle.rs".into()));
        assert_eq!(config.relax[0].method, "depth");
        assert!(config.relax[0].is_about("a::Tree<u32, u32>"));
        assert!(!config.relax[0].is_about("a::Trees"));
        assert!(error("[[relax]]\ntype = 'a'\nmethod = 'b'\nreason = ' '").contains("reason"));
        assert_eq!(config.predict.units, ["a::free"]);
        assert_eq!(config.predict.set[0].type_name, "a::B");
        assert_eq!(config.ignore.len(), 2);
        assert_eq!(config.ignore[1].kind, Some(Kind::DataRace));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert!(error("[test]\n\nspeed = 7\n").starts_with(":3: unknown field `speed`"));
        assert!(error("[test]\ntime = 'soon'\n").contains("`soon` is not a time"));
        assert!(error("[test]\nstrategy = 'best'\n").starts_with(":2: "));
        assert!(error("[[ignore]]\nid = 'x'\n").contains("missing field `reason`"));
        assert!(error("[test\n").starts_with(":1: "));
        assert!(error("[generate]\nfile = ''\n").starts_with(":2: unknown field `file`"));
        assert!(error("[predict]\nunit = []\n").starts_with(":2: unknown field `unit`"));
    }

    #[test]
    fn a_rule_needs_an_id_or_a_kind_with_a_function() {
        for rule in [
            "kind = 'panic'",
            "function = 'a'",
            "id = 'x'\nkind = 'panic'\nfunction = 'a'",
            "",
        ] {
            let text = format!("[[ignore]]\nreason = 'r'\n{rule}\n");
            assert!(
                error(&text).contains("either an id, or a kind and a function"),
                "{rule}"
            );
        }
        let text = "[[ignore]]\nreason = 'r'\nkind = 'x'\nfunction = 'a'\n";
        assert!(error(text).contains("the kinds are panic, crash"));
        let text = "[[ignore]]\nreason = ' '\nid = 'x'\n";
        assert!(error(text).contains("reason is empty"));
    }
}
