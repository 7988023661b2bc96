//! Looks for what keeps a server on this machine from working. Each check says what it found and, where something is
//! wrong, what to do. Nothing is changed; a server may be running.

mod certificate;
mod data;
mod machine;

pub(crate) use data::is_locked;

use std::path::PathBuf;

use serde::Serialize;

/// What is looked at: the server's flags.
#[derive(Debug, Clone)]
pub struct Subject {
    /// `--data-dir`.
    pub data_dir: PathBuf,
    /// Whether somebody named it: then it must be there.
    pub is_data_dir_named: bool,
    /// `--key-file`.
    pub key_file: Option<PathBuf>,
    /// `--opamp-listen`.
    pub opamp_listen: String,
    /// `--listen`.
    pub listen: String,
    /// `--public-url`.
    pub public_url: Option<String>,
    /// `--tls-cert`.
    pub tls_cert: Option<PathBuf>,
}

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but not for long or not for many.
    Warning,
    /// It does not work.
    Failed,
    /// There was nothing to look at.
    Skipped,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    /// How it is.
    pub state: State,
    /// What was found.
    pub finding: String,
    /// What to do; empty where nothing is.
    pub advice: String,
}

impl Finding {
    /// As it should be.
    pub fn ok(check: &'static str, finding: impl Into<String>) -> Self {
        Self { check, state: State::Ok, finding: finding.into(), advice: String::new() }
    }

    /// There was nothing to look at.
    pub fn skipped(check: &'static str, finding: impl Into<String>) -> Self {
        Self { check, state: State::Skipped, finding: finding.into(), advice: String::new() }
    }

    /// It works, but.
    pub fn warning(check: &'static str, finding: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { check, state: State::Warning, finding: finding.into(), advice: advice.into() }
    }

    /// It does not work.
    pub fn failed(check: &'static str, finding: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { check, state: State::Failed, finding: finding.into(), advice: advice.into() }
    }
}

/// Looks at everything that is on this machine. Blocks.
pub fn examine(subject: &Subject) -> Vec<Finding> {
    let data = data::look(subject);
    let mut findings = data.findings;
    findings.extend(machine::ports(subject, data.server_runs));
    findings.push(machine::descriptors());
    findings.extend(certificate::look(subject));
    findings
}
