//! What Compose files become, and what is said of those that become nothing. Each folder's file holds one part; here is
//! what they share.

use std::collections::BTreeMap;

use super::*;
use crate::service::ContainerSpec;

mod examples;
mod features;
mod hostile;
mod merging;
mod mounting;
mod refusals;
mod whole;

/// What a project is read from, in few words.
#[derive(Default)]
struct Given {
    env: BTreeMap<String, String>,
    env_files: BTreeMap<String, String>,
    profiles: Vec<String>,
}

impl Given {
    fn env(pairs: &[(&str, &str)]) -> Self {
        Self { env: map(pairs), ..Self::default() }
    }

    fn parse(&self, texts: &[&str]) -> Result<Project, Vec<Problem>> {
        self.with(texts, parse)
    }

    fn references(&self, text: &str) -> Vec<Reference> {
        self.with(&[text], references).unwrap_or_else(|problems| panic!("{}", lines(&problems)))
    }

    fn with<T>(&self, texts: &[&str], read: impl Fn(&Input<'_>) -> T) -> T {
        const NAMES: [&str; 4] = ["compose.yaml", "override.yaml", "third.yaml", "fourth.yaml"];
        let files: Vec<SourceFile<'_>> =
            NAMES.iter().zip(texts).map(|(name, text)| SourceFile { name, text }).collect();
        read(&Input {
            files: &files,
            env: &self.env,
            profiles: &self.profiles,
            project: Some("demo"),
            env_files: &self.env_files,
        })
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// A project without problems; warnings are not looked at.
fn project(texts: &[&str]) -> Project {
    Given::default().parse(texts).unwrap_or_else(|problems| panic!("{}", lines(&problems)))
}

/// The container of the only service, from the lines below it.
fn container(lines: &str) -> ContainerSpec {
    service(lines).spec.container
}

fn service(lines: &str) -> Service {
    one(project(&[&web(lines)]))
}

fn one(project: Project) -> Service {
    assert_eq!(project.services.len(), 1);
    project.services.into_iter().next().unwrap()
}

/// A file with one service of these lines, and something of each kind that a service can name.
fn web(lines: &str) -> String {
    let body: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "services:\n  web:\n    image: nginx\n{body}volumes:\n  data:\nnetworks:\n  back:\nsecrets:\n  key:\n    file: ./key\nconfigs:\n  conf:\n    content: x\n"
    )
}

/// What is said of a file that is refused, a line for each problem.
fn refused(texts: &[&str]) -> String {
    match Given::default().parse(texts) {
        Ok(project) => panic!("accepted: {project:?}"),
        Err(problems) => lines(&problems),
    }
}

/// What is said of a service's lines: the errors alone, without file and path.
fn errors(lines: &str) -> Vec<String> {
    match Given::default().parse(&[&web(lines)]) {
        Ok(_) => Vec::new(),
        Err(problems) => {
            let errors = problems.into_iter().filter(|problem| problem.severity == Severity::Error);
            errors.map(|problem| problem.text).collect()
        }
    }
}

/// The warnings of a service's lines.
fn warnings(lines: &str) -> Vec<String> {
    project(&[&web(lines)]).warnings.into_iter().map(|problem| problem.text).collect()
}
