//! Whole files as people write them, in the folder `files`, and what becomes of each, in the folder `snapshots`.

use std::fmt::Write as _;

use insta::assert_snapshot;

use super::*;

/// All about a project, to be read by people.
fn shown(texts: &[&str], given: &Given) -> String {
    let project = match given.parse(texts) {
        Ok(project) => project,
        Err(problems) => return lines(&problems),
    };
    let mut text = format!("project {}\n", project.name);
    text += &lines(&project.warnings);
    for Service { name, spec, file, line } in &project.services {
        let json: serde_json::Value = serde_json::from_str(&spec.to_json().unwrap()).unwrap();
        let json = serde_json::to_string_pretty(&json).unwrap();
        let _ = writeln!(text, "service {name} ({file}:{line})\n{json}");
    }
    for network in &project.networks {
        let _ = writeln!(text, "network {}", serde_json::to_string(network).unwrap());
    }
    for volume in &project.volumes {
        let _ = writeln!(text, "volume {}", serde_json::to_string(volume).unwrap());
    }
    for Secret { name, source } in &project.secrets {
        let _ = writeln!(text, "secret {name}: {source:?}");
    }
    for Config { name, source } in &project.configs {
        let _ = writeln!(text, "config {name}: {source:?}");
    }
    text
}

#[test]
fn a_blog_with_its_database_secrets_and_checks() {
    assert_snapshot!(shown(&[include_str!("files/blog.yaml")], &Given::default()));
}

#[test]
fn a_poll_of_five_services_on_two_networks() {
    assert_snapshot!(shown(
        &[include_str!("files/poll.yaml")],
        &Given::env(&[("POSTGRES_PASSWORD", "geheim")])
    ));
}

#[test]
fn monitoring_with_configurations_in_the_file() {
    assert_snapshot!(shown(&[include_str!("files/monitoring.yaml")], &Given::default()));
}

#[test]
fn a_forge_on_one_host_with_ssh() {
    assert_snapshot!(shown(&[include_str!("files/forge.yaml")], &Given::default()));
}

#[test]
fn a_shop_for_production_with_anchors_and_a_second_file() {
    let mut given = Given::env(&[("TAG", "2.3.1"), ("WEB_PORT", "8443")]);
    given.env_files = map(&[("shop.env", "LOG_LEVEL=info\nSMTP_HOST=mail.example\n")]);
    given.profiles = vec!["workers".to_owned()];
    assert_snapshot!(shown(&[include_str!("files/shop.yaml"), include_str!("files/shop.prod.yaml")], &given));
}

#[test]
fn a_file_for_a_developers_machine_is_refused_line_by_line() {
    assert_snapshot!(shown(&[include_str!("files/developer.yaml")], &Given::default()));
}
