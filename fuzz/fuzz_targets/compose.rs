//! Compose files as people paste them: any two texts are a project or problems, and a project's documents read back.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use model::compose::{self, Input, Severity, SourceFile};
use model::service::ServiceSpec;

fuzz_target!(|texts: (&str, &str)| {
    let (first, second) = texts;
    let env = BTreeMap::from([("A".to_owned(), "a$b".to_owned()), ("EMPTY".to_owned(), String::new())]);
    let env_files = BTreeMap::from([("a.env".to_owned(), second.to_owned())]);
    let files = [SourceFile { name: "a", text: first }, SourceFile { name: "b", text: second }];
    let used = if second.is_empty() { &files[..1] } else { &files[..] };
    let profiles = ["*".to_owned()];
    let input =
        Input { files: used, env: &env, profiles: &profiles, project: Some("p"), env_files: &env_files };
    let _ = compose::variables(first);
    let listed = compose::references(&input);
    match compose::parse(&input) {
        Ok(project) => {
            assert!(listed.is_ok());
            for service in &project.services {
                let text = service.spec.to_json().expect("is JSON");
                assert_eq!(ServiceSpec::from_json(&text).expect("reads back"), service.spec);
            }
        }
        Err(problems) => assert!(problems.iter().any(|problem| problem.severity == Severity::Error)),
    }
});
