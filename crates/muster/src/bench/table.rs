//! Figures as text: sentences for one run, a Markdown table for a comparison.

use super::measure::{Figures, Mode};

/// One run, for a person.
pub(super) fn sentences(mode: Mode, figures: &Figures) -> String {
    let mut lines = Vec::new();
    let noun = match mode {
        Mode::Joins => "joins",
        Mode::Push => "offers",
        _ => "messages",
    };
    lines.push(format!(
        "{} agents; {} {noun} in {:.1} s ({:.0}/s), {} errors",
        figures.agents,
        figures.done,
        figures.window,
        figures.done as f64 / figures.window,
        figures.errors
    ));
    if let (Some(cpu), Some(in_window)) = (figures.server_cpu, figures.server_cpu_in_window) {
        lines.push(format!(
            "server: {cpu:.3} s of processor time ({:.0} % in the kernel), of it {in_window:.3} s under load \
             ({:.0} % of a core); client {:.3} s ({:.0} % of a core)",
            figures.server_kernel_share.unwrap_or_default() * 100.0,
            in_window / figures.window * 100.0,
            figures.client_cpu,
            figures.client_cpu / figures.window * 100.0
        ));
    }
    if let (Some(rate), Some(each), true) =
        (figures.per_cpu_second(), figures.micros_each(), figures.done > 0)
    {
        lines.push(format!("per server CPU-second: {rate:.0} {noun}; {each:.1} µs each"));
    }
    if let (Some(bytes), Some((before, with))) = (figures.bytes_per_agent(), figures.resident) {
        lines.push(format!(
            "resident: {:.1} MiB before, {:.1} MiB with the agents: {bytes:.0} bytes per idle agent",
            before as f64 / 1048576.0,
            with as f64 / 1048576.0
        ));
    }
    for (name, latency) in &figures.answers {
        lines.push(format!("{name}: p50 {:.1} ms, p99 {:.1} ms", latency.p50, latency.p99));
    }
    if let Some(api) = figures.api {
        lines.push(format!(
            "API meanwhile: p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms of {} requests",
            api.p50, api.p99, api.worst, api.requests
        ));
    }
    lines.join("\n")
}

/// All rounds of one load.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) mode: Mode,
    pub(super) ours: Vec<Figures>,
    /// Empty where only Muster is measured.
    pub(super) yardstick: Vec<Figures>,
}

impl Outcome {
    /// Each run with a name for it.
    pub(super) fn named(&self) -> impl Iterator<Item = (String, &Figures)> {
        let ours = self.ours.iter().map(|figures| (format!("{:?} on muster", self.mode), figures));
        ours.chain(
            self.yardstick.iter().map(|figures| (format!("{:?} on the yardstick", self.mode), figures)),
        )
    }
}

/// What a figure is to be, as a ratio to the yardstick or as bytes.
enum Goal {
    AtLeast(f64),
    AtMost(f64),
    BytesAtMost(f64),
}

/// A line of the table: what it is called, where the figure is, how it is written and what it is to be.
struct Row {
    mode: Mode,
    name: &'static str,
    figure: fn(&Figures) -> Option<f64>,
    goal: Goal,
}

const KIB: f64 = 1024.0;

const ROWS: [Row; 9] = [
    Row {
        mode: Mode::Status,
        name: "changed statuses (456 B) per CPU-second",
        figure: Figures::per_cpu_second,
        goal: Goal::AtLeast(1.7),
    },
    Row {
        mode: Mode::Heartbeat,
        name: "heartbeats per CPU-second",
        figure: Figures::per_cpu_second,
        goal: Goal::AtLeast(1.4),
    },
    Row {
        mode: Mode::Http,
        name: "statuses over HTTP per CPU-second",
        figure: Figures::per_cpu_second,
        goal: Goal::AtLeast(2.5),
    },
    Row {
        mode: Mode::HttpGzip,
        name: "the same, client accepts gzip",
        figure: Figures::per_cpu_second,
        goal: Goal::AtLeast(2.5),
    },
    Row {
        mode: Mode::Joins,
        name: "joins per CPU-second",
        figure: Figures::per_cpu_second,
        goal: Goal::AtLeast(1.5),
    },
    Row {
        mode: Mode::Push,
        name: "offers to all, applied and stored, per CPU-second",
        figure: Figures::per_cpu_second,
        goal: Goal::AtLeast(1.3),
    },
    Row {
        mode: Mode::Fleet,
        name: "µs per heartbeat at the pace of a fleet",
        figure: Figures::micros_each,
        goal: Goal::AtMost(0.5),
    },
    Row {
        mode: Mode::Fleet,
        name: "bytes per idle agent",
        figure: Figures::bytes_per_agent,
        goal: Goal::BytesAtMost(8.0 * KIB),
    },
    Row {
        mode: Mode::Idle,
        name: "bytes per idle agent, TLS",
        figure: Figures::bytes_per_agent,
        goal: Goal::BytesAtMost(16.0 * KIB),
    },
];

/// The table in Markdown, with what a reader needs to judge it.
pub(super) fn comparison(outcomes: &[Outcome], rounds: u16, quick: bool) -> String {
    let mut text = format!("{}\n\n", machine());
    text.push_str(&format!("Medians of {rounds} paired round{}.", if rounds == 1 { "" } else { "s" }));
    if quick {
        text.push_str(" A quick run: the figures mean nothing.");
    }
    text.push_str(
        "\n\n| load | muster | opamp-go | ratio | goal | | CPU muster / client | CPU opamp-go / client |\n",
    );
    text.push_str("|---|--:|--:|--:|--:|---|--:|--:|\n");
    for row in &ROWS {
        if let Some(outcome) = outcomes.iter().find(|outcome| outcome.mode == row.mode) {
            text.push_str(&line(row, outcome));
        }
    }
    text.push_str("\nCPU: share of one core during the load, server / load generator; a server far below 100 % in a closed loop was starved.\n");
    for outcome in outcomes {
        let (p50, p99) = (api(outcome, |api| api.p50), api(outcome, |api| api.p99));
        if let (Some(p50), Some(p99)) = (p50, p99) {
            let requests: usize =
                outcome.ours.iter().filter_map(|figures| figures.api).map(|api| api.requests).sum();
            text.push_str(&format!(
                "\nAPI under the load {:?}, {requests} requests for 100 agents: p50 {p50:.1} ms, p99 {p99:.1} ms.\n",
                outcome.mode
            ));
        }
    }
    text.push_str(&questions(outcomes));
    text
}

/// How quickly each question was answered, with the goal of a hundred milliseconds for all but one in a hundred.
fn questions(outcomes: &[Outcome]) -> String {
    let Some(outcome) = outcomes.iter().find(|outcome| outcome.mode == Mode::Inventory) else {
        return String::new();
    };
    let agents = outcome.ours.iter().map(|figures| figures.agents).max().unwrap_or_default();
    let mut text = format!(
        "\n| API with {agents} agents in the store | p50 ms | p99 ms | goal 100 ms |\n|---|--:|--:|---|\n"
    );
    let names = outcome.ours.first().map(|figures| figures.answers.iter().map(|(name, _)| name));
    for name in names.into_iter().flatten() {
        let of = |figure: fn(&super::api::Latency) -> f64| {
            let all = outcome.ours.iter().flat_map(|figures| &figures.answers);
            median(all.filter(|(other, _)| other == name).map(|(_, latency)| figure(latency)).collect())
        };
        let (p50, p99) = (of(|latency| latency.p50), of(|latency| latency.p99));
        if let (Some(p50), Some(p99)) = (p50, p99) {
            let met = if p99 <= 100.0 { "met" } else { "missed" };
            text.push_str(&format!("| {name} | {p50:.1} | {p99:.1} | {met} |\n"));
        }
    }
    text
}

fn api(outcome: &Outcome, figure: fn(&super::api::Latency) -> f64) -> Option<f64> {
    median(outcome.ours.iter().filter_map(|figures| figures.api.as_ref()).map(figure).collect())
}

fn line(row: &Row, outcome: &Outcome) -> String {
    let values = |figures: &[Figures]| -> Vec<f64> { figures.iter().filter_map(row.figure).collect() };
    let (ours, yardstick) = (values(&outcome.ours), values(&outcome.yardstick));
    // Round by round: both figures of a pair had the same minutes.
    let ratio = median(ours.iter().zip(&yardstick).map(|(ours, yardstick)| ours / yardstick).collect());
    let ours = median(ours);
    let (goal, met) = match row.goal {
        Goal::AtLeast(least) => (format!("≥ {least} ×"), ratio.map(|ratio| ratio >= least)),
        Goal::AtMost(most) => (format!("≤ {most} ×"), ratio.map(|ratio| ratio <= most)),
        Goal::BytesAtMost(most) => (format!("≤ {most}"), ours.map(|bytes| bytes <= most)),
    };
    let met = met.map_or("", |met| if met { "met" } else { "missed" });
    format!(
        "| {} | {} | {} | {} | {goal} | {met} | {} | {} |\n",
        row.name,
        ours.map_or("".into(), number),
        median(yardstick).map_or("".into(), number),
        ratio.map_or("".into(), |ratio| format!("{ratio:.2}")),
        shares(&outcome.ours),
        shares(&outcome.yardstick),
    )
}

/// Shares of a core: the server's and the load generator's.
fn shares(figures: &[Figures]) -> String {
    let server =
        median(figures.iter().filter_map(|run| Some(run.server_cpu_in_window? / run.window)).collect());
    let client = median(figures.iter().map(|run| run.client_cpu / run.window).collect());
    match (server, client) {
        (Some(server), Some(client)) => format!("{:.0} % / {:.0} %", server * 100.0, client * 100.0),
        _ => String::new(),
    }
}

/// With separators between thousands; smaller figures with one decimal, and small ones with two.
pub(super) fn number(value: f64) -> String {
    if value < 1_000.0 {
        return if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// Day, processor and kernel: figures without them cannot be compared.
pub(super) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{}, {cores} cores of {}, Linux {}",
        time::OffsetDateTime::now_utc().date(),
        model.unwrap_or_else(|| "an unknown processor".into()),
        kernel.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(done: u64, cpu: f64) -> Figures {
        Figures {
            agents: 10,
            done,
            window: 1.0,
            server_cpu: Some(cpu),
            server_cpu_in_window: Some(cpu),
            client_cpu: 0.5,
            ..Default::default()
        }
    }

    #[test]
    fn a_line_shows_the_medians_and_the_ratio_of_the_pairs() {
        let outcome = Outcome {
            mode: Mode::Status,
            ours: vec![figures(2_000, 1.0), figures(90_000, 1.0), figures(100_000, 1.0)],
            yardstick: vec![figures(1_000, 1.0), figures(50_000, 1.0), figures(60_000, 1.0)],
        };
        assert_eq!(
            line(&ROWS[0], &outcome),
            "| changed statuses (456 B) per CPU-second | 90,000 | 50,000 | 1.80 | ≥ 1.7 × | met | 100 % / 50 % | 100 % / 50 % |\n"
        );
    }

    #[test]
    fn a_figure_without_a_yardstick_is_held_against_its_limit() {
        let run = Figures { resident: Some((1_000, 1_000 + 10 * 20_000)), ..figures(0, 0.1) };
        let outcome = Outcome { mode: Mode::Idle, ours: vec![run], yardstick: Vec::new() };
        assert_eq!(
            line(&ROWS[8], &outcome),
            "| bytes per idle agent, TLS | 20,000 |  |  | ≤ 16384 | missed | 10 % / 50 % |  |\n"
        );
    }

    #[test]
    fn medians_of_an_even_number_lie_between() {
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
