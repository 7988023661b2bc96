//! `muster doctor`: what keeps a server from working, and what to do. What is on this machine is looked at in
//! `control_plane::doctor`; here is the question to the server, if one is known.

use std::time::{Duration, SystemTime};

use control_plane::doctor::{Finding, State, Subject, examine};
use serde::Serialize;

use super::runtime;
use crate::cli::Global;
use crate::cli::operations::DoctorArgs;
use crate::context;
use crate::failure::{Failure, Kind};
use crate::output;

/// Where a server keeps its data if nobody says otherwise.
const DATA_DIR: &str = "./muster-data";
/// Clocks that differ more than this make times hard to read.
const OFF: Duration = Duration::from_secs(30);
/// And more than this, certificates and logins that have just begun look as if they had not.
const FAR_OFF: Duration = Duration::from_secs(300);

/// What `-o json` prints.
#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    checks: &'a [Finding],
}

/// `muster doctor`. Exit code 1 when a check failed.
pub(crate) fn doctor(args: &DoctorArgs, global: &Global) -> Result<(), Failure> {
    let mut findings = examine(&Subject {
        data_dir: args.data_dir.clone().unwrap_or_else(|| DATA_DIR.into()),
        is_data_dir_named: args.data_dir.is_some(),
        key_file: args.key_file.clone(),
        opamp_listen: args.opamp_listen.clone(),
        listen: args.listen.clone(),
        public_url: args.public_url.clone(),
        tls_cert: args.tls_cert.clone(),
    });
    findings.extend(server(args, global)?);
    let failed = findings.iter().filter(|finding| finding.state == State::Failed).count();
    let report = Report { ok: failed == 0, checks: &findings };
    let names =
        || findings.iter().filter(|one| one.state == State::Failed).map(|one| one.check.to_owned()).collect();
    output::value(args.output.format, &report, || table(&findings), names)?;
    match failed {
        0 => Ok(()),
        1 => Err(Failure::new(Kind::Failed, "one check failed")),
        failed => Err(Failure::new(Kind::Failed, format!("{failed} checks failed"))),
    }
}

fn table(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for Finding { check, state, finding, advice } in findings {
        let word = match state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failed => "FAILED",
            State::Skipped => "skipped",
        };
        lines.push(format!("{word:<8}  {check}: {finding}"));
        if !advice.is_empty() {
            lines.push(format!("          {advice}"));
        }
    }
    lines.join("\n")
}

/// Asks the server that the flags, the environment or the contexts mean; none of them may.
fn server(args: &DoctorArgs, global: &Global) -> Result<Vec<Finding>, Failure> {
    let is_named = args.connection.url.is_some() || global.context.is_some();
    let client = match context::client(&args.connection, global) {
        Ok(client) => client,
        Err(failure) if is_named => return Err(failure),
        Err(_) => {
            return Ok(vec![Finding::skipped("server", "no server is known here (--url, or muster login)")]);
        }
    };
    let base = client.base().to_owned();
    let asked = SystemTime::now();
    let advice = "see whether the server runs there and what its log says; a certificate that is not trusted needs \
                  --fingerprint";
    match runtime()?.block_on(client.clock()) {
        Err(error) => Ok(vec![Finding::failed("server", error.to_string(), advice)]),
        Ok(theirs) => {
            let ours = asked + asked.elapsed().unwrap_or_default() / 2;
            Ok(vec![Finding::ok("server", format!("{base} answers")), clock(ours, theirs)])
        }
    }
}

fn clock(ours: SystemTime, theirs: SystemTime) -> Finding {
    let check = "clock";
    let off = ours.duration_since(theirs).unwrap_or_else(|error| error.duration());
    // A header has whole seconds.
    let finding = format!("this machine and the server are {} s apart", off.as_secs());
    let advice = "let both set their clocks, with chrony or systemd-timesyncd";
    match off {
        off if off > FAR_OFF => Finding::failed(check, finding, advice),
        off if off > OFF => Finding::warning(check, finding, advice),
        _ => Finding::ok(check, "this machine and the server agree on the time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_differ_are_told_either_way() {
        let now = SystemTime::now();
        for (off, state) in [(2, State::Ok), (60, State::Warning), (3600, State::Failed)] {
            let other = now + Duration::from_secs(off);
            assert_eq!((clock(now, other).state, clock(other, now).state), (state, state));
        }
    }
}
