//! `muster bench compare`: the same loads on Muster and on a yardstick, in turns and in the same sitting, because the
//! figures of one server alone say more about the machine and the hour. Each load is a process of its own, so that its
//! processor time is only its own. `table` prints what comes out.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, ensure};
use clap::ValueEnum;

use super::{
    measure::{Figures, Mode},
    process::held,
    server::Server,
    table::{self, Outcome},
};

/// What to compare.
#[derive(Debug, clap::Args)]
pub(super) struct CompareArgs {
    /// The other server: a program that prints `listening on ADDRESS` and answers on /v1/opamp
    #[arg(long, default_value = "interop/.cache/bin/benchserver")]
    yardstick: PathBuf,
    /// The `muster` program to measure [default: this one]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Rounds; the table shows medians
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=99))]
    rounds: u16,
    /// Only these loads
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Mode>,
    /// One short round, to see that everything works; its figures mean nothing
    #[arg(long)]
    quick: bool,
}

/// One load in a comparison.
struct Step {
    mode: Mode,
    agents: usize,
    seconds: u32,
    interval: u32,
    /// Whether Muster's API is asked meanwhile.
    api: bool,
}

impl Step {
    fn of(mode: Mode, quick: bool) -> Self {
        let (agents, seconds, interval) = match (mode, quick) {
            (Mode::Fleet, true) => (200, 3, 2),
            (Mode::Idle, true) => (200, 1, 30),
            (Mode::Push, true) => (50, 1, 30),
            (Mode::Inventory, true) => (500, 1, 30),
            (mode, true) => (mode.agents().min(32), 1, 30),
            (Mode::Fleet, false) => (mode.agents(), 60, 30),
            (Mode::Idle, false) => (4_000, 1, 30),
            (mode, false) => (mode.agents(), 3, 30),
        };
        Self {
            mode,
            agents,
            seconds,
            interval,
            api: matches!(mode, Mode::Fleet | Mode::Status | Mode::Push | Mode::Inventory),
        }
    }

    fn start(&self, server: &Server) -> anyhow::Result<Child> {
        let mode = self.mode.to_possible_value().context("a mode without a name")?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "load", mode.get_name(), "--json", "--url", &server.opamp]);
        command.args(["--pid", &server.pid().to_string(), "--agents", &self.agents.to_string()]);
        command.args(["--seconds", &self.seconds.to_string(), "--interval", &self.interval.to_string()]);
        if let Some(token) = &server.token {
            command.env("MUSTER_BENCH_TOKEN", token);
        }
        if let Some(ca) = &server.ca {
            command.arg("--ca-file").arg(ca);
        }
        if let (Some((console, password)), true) = (&server.api, self.api) {
            command.args(["--api-url", console]).env("MUSTER_BENCH_PASSWORD", password);
        }
        if let Some(control) = &server.control {
            command.args(["--push-url", control]);
        }
        let mut command = held(&command)?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start the load generator")
    }

    fn run(&self, server: &Server) -> anyhow::Result<Figures> {
        finish(self.start(server)?)
    }
}

fn finish(child: Child) -> anyhow::Result<Figures> {
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the load generator failed");
    serde_json::from_slice(&output.stdout).context("the load generator printed no figures")
}

/// The closed loops, in the order in which they run.
const CLOSED: [Mode; 5] = [Mode::Status, Mode::Heartbeat, Mode::Http, Mode::HttpGzip, Mode::Joins];

/// Runs the comparison and prints the table. Missed goals are printed, not failed; wrong answers fail.
pub(super) fn run(args: CompareArgs) -> anyhow::Result<()> {
    ensure!(
        args.yardstick.exists(),
        "there is no yardstick at {}: `interop/build bench` makes it (needs Go)",
        args.yardstick.display()
    );
    let program = args.program.clone().map_or_else(std::env::current_exe, Ok)?;
    let rounds = if args.quick { 1 } else { args.rounds };
    let mut outcomes: Vec<Outcome> = Vec::new();
    for round in 0..rounds {
        progress(&format!("round {} of {rounds}", round + 1));
        for (mode, ours, yardstick) in one_round(&args, &program, round % 2 == 1)? {
            let index = outcomes.iter().position(|outcome| outcome.mode == mode).unwrap_or_else(|| {
                outcomes.push(Outcome { mode, ours: Vec::new(), yardstick: Vec::new() });
                outcomes.len() - 1
            });
            outcomes[index].ours.push(ours);
            outcomes[index].yardstick.extend(yardstick);
        }
    }
    write!(std::io::stdout(), "{}", table::comparison(&outcomes, rounds, args.quick))?;
    for (name, figures) in outcomes.iter().flat_map(Outcome::named) {
        ensure!(
            figures.errors == 0,
            "{name}: {} answers were wrong or missing, the first: {}",
            figures.errors,
            figures.first_error.as_deref().unwrap_or("unknown")
        );
    }
    Ok(())
}

/// Every load once on each side. `swapped`: the yardstick goes first.
fn one_round(
    args: &CompareArgs,
    program: &Path,
    swapped: bool,
) -> anyhow::Result<Vec<(Mode, Figures, Option<Figures>)>> {
    let wanted = |mode: &Mode| args.only.is_empty() || args.only.contains(mode);
    let mut found = Vec::new();
    let closed: Vec<Mode> = CLOSED.into_iter().filter(wanted).collect();
    if !closed.is_empty() {
        let (ours, yardstick) = (Server::muster(program, false)?, Server::yardstick(&args.yardstick)?);
        for mode in closed {
            let step = Step::of(mode, args.quick);
            let (first, second) = if swapped { (&yardstick, &ours) } else { (&ours, &yardstick) };
            let figures = (step.run(first)?, step.run(second)?);
            let (ours, yardstick) = if swapped { (figures.1, figures.0) } else { figures };
            report(mode, &ours, Some(&yardstick));
            found.push((mode, ours, Some(yardstick)));
        }
    }
    if wanted(&Mode::Push) {
        let (ours, yardstick) =
            (Server::muster(program, false)?, Server::pushing_yardstick(&args.yardstick)?);
        let step = Step::of(Mode::Push, args.quick);
        let (ours, yardstick) = match swapped {
            false => (step.run(&ours)?, step.run(&yardstick)?),
            true => {
                let yardstick = step.run(&yardstick)?;
                (step.run(&ours)?, yardstick)
            }
        };
        report(Mode::Push, &ours, Some(&yardstick));
        found.push((Mode::Push, ours, Some(yardstick)));
    }
    if wanted(&Mode::Fleet) {
        let (ours, yardstick) = (Server::muster(program, false)?, Server::yardstick(&args.yardstick)?);
        let step = Step::of(Mode::Fleet, args.quick);
        // Both fleets at once: they leave the machine mostly idle, and both sides then have the very same minute.
        let running = (step.start(&ours)?, step.start(&yardstick)?);
        let figures = (finish(running.0), finish(running.1));
        let (ours, yardstick) = (figures.0?, figures.1?);
        report(Mode::Fleet, &ours, Some(&yardstick));
        found.push((Mode::Fleet, ours, Some(yardstick)));
    }
    if wanted(&Mode::Idle) {
        let ours = Step::of(Mode::Idle, args.quick).run(&Server::muster(program, true)?)?;
        report(Mode::Idle, &ours, None);
        found.push((Mode::Idle, ours, None));
    }
    // Once is enough: it is no ratio, and filling a store takes a minute.
    if wanted(&Mode::Inventory) && !swapped {
        let ours = Step::of(Mode::Inventory, args.quick).run(&Server::muster(program, false)?)?;
        report(Mode::Inventory, &ours, None);
        found.push((Mode::Inventory, ours, None));
    }
    Ok(found)
}

fn report(mode: Mode, ours: &Figures, yardstick: Option<&Figures>) {
    progress(&format!("{mode:?}, muster: {}", table::sentences(mode, ours).replace('\n', "; ")));
    if let Some(figures) = yardstick {
        progress(&format!("{mode:?}, yardstick: {}", table::sentences(mode, figures).replace('\n', "; ")));
    }
}

fn progress(text: &str) {
    // A closed standard error is no reason to stop measuring.
    let _ = writeln!(std::io::stderr(), "{text}");
}
