//! How a command fails: an exit code that scripts can tell apart, and one or two lines for people that say what to
//! do next.

use std::process::ExitCode;

use api::ClientError;
use api::configs::ConfigProblem;
use api::problem::Problem;

use crate::output;

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    kind: Kind,
    message: String,
    hint: Option<String>,
}

/// What kind of fault it is. Each kind has one exit code, whichever command meets it: [`Kind::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It did not work: this machine, the network, the server.
    Failed,
    /// The command line, or a value on it, makes no sense.
    Usage,
    /// What the files say is not accepted.
    Content,
    /// It cannot be done in the state in which things are now, or somebody changed them meanwhile.
    Conflict,
    /// Somebody was asked and did not say yes.
    Declined,
    /// What was named does not exist.
    NotFound,
    /// It is not allowed, or nobody is logged in, or the server is not trusted.
    Refused,
    /// Some of it is done: some items failed, or a rollout stopped.
    Partly,
    /// The time to wait is over; what was asked for goes on.
    TimedOut,
}

impl Kind {
    /// The exit code. The table is in docs/guide/access.md too.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Failed | Self::Content | Self::Conflict | Self::Declined => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::Partly => 5,
            Self::TimedOut => 6,
        }
    }

    /// What kind of fault the client's error is.
    fn of(error: &ClientError) -> Self {
        match error {
            ClientError::Problem(problem) => Self::of_problem(problem),
            ClientError::Unreachable { .. } | ClientError::Unexpected { .. } => Self::Failed,
            ClientError::Untrusted { .. } | ClientError::Credential { .. } => Self::Refused,
            ClientError::Url(_) => Self::Usage,
        }
    }

    fn of_problem(problem: &Problem) -> Self {
        match (problem.status, problem.field.as_deref()) {
            (401 | 403, _) => Self::Refused,
            (404, _) => Self::NotFound,
            // No thing has such an id: that is not different from one that nobody made.
            (400, Some("uid" | "id" | "path")) => Self::NotFound,
            // The one password that a caller who is logged in can get wrong.
            (422, Some("current")) => Self::Refused,
            (422, _) if !problem.problems.is_empty() => Self::Content,
            (413, _) => Self::Content,
            (400 | 422, _) => Self::Usage,
            (409 | 412, _) => Self::Conflict,
            _ => Self::Failed,
        }
    }
}

impl Failure {
    /// A failure of this kind.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same with a line that says what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The same, with the place in a file that it is about.
    pub(crate) fn at(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
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
        Self::new(Kind::Failed, message)
    }

    /// Files of a configuration that are not accepted: the first error, and how many more there are.
    pub(crate) fn of_problems(problems: &[ConfigProblem]) -> Self {
        let errors: Vec<_> = problems.iter().filter(|one| one.severity == "error").collect();
        let first = errors.first().map_or_else(String::new, |one| output::problem(one));
        let failure = Self::new(Kind::Content, first);
        match errors.len() {
            0 | 1 => failure,
            count => failure.hint(format!("And {} more: muster configs check -f PATH shows all.", count - 1)),
        }
    }

    /// A setting that makes no sense.
    pub(crate) fn usage(error: impl std::fmt::Display) -> Self {
        Self::new(Kind::Usage, error.to_string())
    }

    /// Prints it and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        crate::output::note(&format!("muster: {}", self.message));
        if let Some(hint) = &self.hint {
            crate::output::note(hint);
        }
        ExitCode::from(self.kind.code())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        if let ClientError::Problem(problem) = &error
            && !problem.problems.is_empty()
        {
            return Self::of_problems(&problem.problems);
        }
        let failure = Self::new(Kind::of(&error), error.to_string());
        match &error {
            ClientError::Problem(problem) => match problem.status {
                401 => failure.hint("Run: muster login <url>, or put an API token into MUSTER_TOKEN."),
                404 => match list_of(&problem.detail) {
                    Some(command) => failure.hint(format!("muster {command} shows what there is.")),
                    None => failure,
                },
                412 => failure.hint("Look at it again, then repeat the command."),
                _ => failure,
            },
            ClientError::Credential { advice, .. } => failure.hint(advice),
            ClientError::Unreachable { url, reason } => failure.hint(unreachable(url, reason)),
            ClientError::Untrusted { .. } => failure
                .hint("Run: muster login <url> --fingerprint <the fingerprint that the server printed>"),
            ClientError::Unexpected { .. } => failure.hint(
                "The URL is that of the console (port 5050), such as https://muster.example.org:5050, and not of OpAMP.",
            ),
            ClientError::Url(_) => failure,
        }
    }
}

/// What the server says that there is none of, and the command that lists what there is.
const LISTS: [(&str, &str); 13] = [
    ("agent ", "agents list"),
    ("assignment ", "assignments list"),
    ("configuration ", "configs list"),
    ("deployment ", "deployments list"),
    ("enrolment token ", "tokens list"),
    ("API token ", "api-tokens list"),
    ("host ", "hosts list"),
    ("join token ", "hosts tokens list"),
    ("project ", "projects list"),
    ("secret ", "secrets list"),
    ("service ", "services list"),
    ("such user", "users list"),
    ("view ", "views list"),
];

/// The command that lists what the server says that there is none of.
fn list_of(detail: &str) -> Option<&'static str> {
    let what = detail.strip_prefix("there is no ")?;
    LISTS.iter().find(|(noun, _)| what.starts_with(noun)).map(|(_, command)| *command)
}

/// What to do about a server that cannot be reached. With the wrong scheme each side hears what is not its protocol, and the
/// libraries have no other way to say so than these words.
fn unreachable(url: &str, reason: &str) -> &'static str {
    if url.starts_with("http://") && reason.contains("invalid HTTP version") {
        return "That port does not speak plain HTTP: if it speaks TLS, the URL begins with https://";
    }
    if url.starts_with("https://") && reason.contains("InvalidContentType") {
        return "That port does not speak TLS: the URL begins with http://";
    }
    "Is the server running there? Set another URL with --url."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(status: u16, field: Option<&str>) -> ClientError {
        ClientError::Problem(Box::new(Problem {
            kind: String::new(),
            title: String::new(),
            status,
            detail: String::new(),
            field: field.map(str::to_owned),
            problems: Vec::new(),
        }))
    }

    #[test]
    fn what_is_not_there_is_answered_with_the_command_that_lists_what_is() {
        assert_eq!(list_of("there is no host eu-9"), Some("hosts list"));
        assert_eq!(list_of("there is no join token 9"), Some("hosts tokens list"));
        let muster = <crate::cli::Cli as clap::CommandFactory>::command();
        for (_, command) in LISTS {
            let found = command.split(' ').try_fold(&muster, |inner, word| inner.find_subcommand(word));
            assert!(found.is_some(), "there is no command {command}");
        }
        assert_eq!(list_of("there is no hostage"), None);
        assert_eq!(list_of("edge has no revision 9"), None);
    }

    fn code(error: ClientError) -> u8 {
        Failure::from(error).kind.code()
    }

    #[test]
    fn the_same_kind_of_fault_has_the_same_exit_code() {
        for (kind, code) in [
            (Kind::Failed, 1),
            (Kind::Content, 1),
            (Kind::Conflict, 1),
            (Kind::Declined, 1),
            (Kind::Usage, 2),
            (Kind::NotFound, 3),
            (Kind::Refused, 4),
            (Kind::Partly, 5),
            (Kind::TimedOut, 6),
        ] {
            assert_eq!(kind.code(), code, "{kind:?}");
        }
    }

    #[test]
    fn each_answer_of_the_server_has_its_exit_code() {
        for (status, field, expected) in [
            (400, Some("selector"), 2),
            (400, Some("id"), 3),
            (400, Some("uid"), 3),
            (400, None, 2),
            (401, None, 4),
            (403, None, 4),
            (404, None, 3),
            (409, None, 1),
            (412, None, 1),
            (413, None, 1),
            (422, Some("name"), 2),
            (422, Some("current"), 4),
            (429, None, 1),
            (500, None, 1),
            (503, None, 1),
        ] {
            assert_eq!(code(problem(status, field)), expected, "{status} {field:?}");
        }
        let (url, reason) = (String::new(), String::new());
        assert_eq!(code(ClientError::Unreachable { url: url.clone(), reason: reason.clone() }), 1);
        assert_eq!(code(ClientError::Unexpected { url: url.clone(), reason: reason.clone() }), 1);
        assert_eq!(code(ClientError::Untrusted { url, reason: reason.clone() }), 4);
        assert_eq!(code(ClientError::Url(reason)), 2);
        let ours = ConfigProblem { severity: "error".to_owned(), ..ConfigProblem::default() };
        assert_eq!(Failure::of_problems(&[ours]).kind.code(), 1);
    }
}
