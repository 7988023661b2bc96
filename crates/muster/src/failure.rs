//! How a command fails: an exit code that scripts can tell apart, and one or two lines for people that say what to
//! do next.

use std::process::ExitCode;

use api::ClientError;
use api::configs::ConfigProblem;

use crate::output;

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    hint: Option<String>,
}

/// Exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// It did not work.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The thing does not exist.
    NotFound = 3,
    /// It is not allowed, or nobody is logged in.
    Refused = 4,
    /// Some of it is done: some items failed, or a rollout stopped.
    Partly = 5,
    /// The time to wait is over; what was asked for goes on.
    TimedOut = 6,
}

impl Failure {
    /// A failure with this exit code.
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None }
    }

    /// The same with a line that says what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Exit code 1, from an error with its causes.
    pub(crate) fn of(error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            message.push_str(": ");
            message.push_str(&next.to_string());
            cause = next.source();
        }
        Self::new(Code::Failed, message)
    }

    /// Files of a configuration that are not accepted: the first error, and how many more there are.
    pub(crate) fn of_problems(problems: &[ConfigProblem]) -> Self {
        let errors: Vec<_> = problems.iter().filter(|one| one.severity == "error").collect();
        let first = errors.first().map_or_else(String::new, |one| output::problem(one));
        let failure = Self::new(Code::Usage, first);
        match errors.len() {
            0 | 1 => failure,
            count => failure.hint(format!("And {} more: muster configs check -f PATH shows all.", count - 1)),
        }
    }

    /// A setting that makes no sense.
    pub(crate) fn usage(error: impl std::fmt::Display) -> Self {
        Self::new(Code::Usage, error.to_string())
    }

    /// Prints it and gives the exit code.
    #[expect(clippy::print_stderr, reason = "this is where errors reach people")]
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("muster: {}", self.message);
        if let Some(hint) = &self.hint {
            eprintln!("{hint}");
        }
        ExitCode::from(self.code as u8)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        if let ClientError::Problem(problem) = &error
            && !problem.problems.is_empty()
        {
            return Self::of_problems(&problem.problems);
        }
        match &error {
            ClientError::Problem(problem) => match problem.status {
                401 => Self::new(Code::Refused, message).hint("Run: muster login <url>"),
                403 => Self::new(Code::Refused, message),
                404 => Self::new(Code::NotFound, message),
                412 => Self::new(Code::Failed, message).hint("Look at it again, then repeat the command."),
                400 | 422 => Self::new(Code::Usage, message),
                _ => Self::new(Code::Failed, message),
            },
            ClientError::Unreachable { .. } => Self::new(Code::Failed, message)
                .hint("Is the server running there? Set another URL with --url."),
            ClientError::Untrusted { .. } => Self::new(Code::Refused, message)
                .hint("Run: muster login <url> --fingerprint <the fingerprint that the server printed>"),
            ClientError::Unexpected { .. } => Self::new(Code::Failed, message)
                .hint("Is this the URL of the console (port 5050), not of OpAMP?"),
            ClientError::Url(_) => Self::new(Code::Usage, message),
        }
    }
}
