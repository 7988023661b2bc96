//! `muster bench reconcile`: two hundred replicas that sleep, and an agent that has nothing to do. What its passes cost,
//! what it asks the engine for, and that it writes nothing.

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use tokio::time::sleep;

use super::{
    EngineArgs,
    ground::Ground,
    proxy::{Calls, Proxy},
};
use crate::bench::{limits::Limits, process::Process, server::Server};

/// Milliseconds of processor time that a pass may take, everything else that the agent does in its time included.
const CPU_MS: f64 = 50.0;
/// For all replicas to be started.
const START_WITHIN: Duration = Duration::from_secs(600);
/// After the last of them the agent still looks at what it did: until it has been calm for so long.
const CALM: Duration = Duration::from_secs(2);
const CALM_LIMIT: Duration = Duration::from_secs(60);
const LIST: &str = "GET /containers/json";
/// On every tenth pass.
const SELDOM: [&str; 2] = ["GET /networks", "GET /volumes"];

pub(super) async fn measured(args: &EngineArgs, replicas: u32, window: Duration) -> anyhow::Result<Limits> {
    let server = Server::muster(&std::env::current_exe()?, true)?;
    let socket = server.folder().join("engine.sock");
    let proxy = Proxy::start(&socket, args.docker.clone())?;
    let ground = Ground::start(server, socket).await?;
    let mut asking = ground.ask().await?;
    let compose = format!(
        "services:\n  idle:\n    image: {}\n    command: [sleep, '1000000']\n    deploy: {{replicas: {replicas}}}\n",
        args.image
    );
    let id = ground.deploy(&mut asking, &compose).await?;
    ground.until_done(&mut asking, &id, START_WITHIN).await?;
    let [agent, _] = ground.processes()?;
    agent.quiet(CALM, CALM_LIMIT).await?;
    let limits = watch(&ground, &proxy, window).await?;
    ground.leave().await?;
    Ok(limits)
}

async fn watch(ground: &Ground, proxy: &Proxy, window: Duration) -> anyhow::Result<Limits> {
    let [agent, netd] = ground.processes()?;
    let (calls, files) = (proxy.calls(), files(ground.folder())?);
    let before = [used(agent)?, used(netd)?];
    sleep(window).await;
    let after = [used(agent)?, used(netd)?];
    let calls = since(&calls, proxy.calls());
    let changed = changed(&files, &self::files(ground.folder())?);
    let passes = calls.get(LIST).copied().unwrap_or(0);
    ensure!(passes > 0, "no pass within {} s", window.as_secs());
    Ok(limits(passes, [after[0] - before[0], after[1] - before[1]], &calls, &changed))
}

fn limits(passes: u64, cpu: [f64; 2], calls: &Calls, changed: &[PathBuf]) -> Limits {
    let count = |wanted: &dyn Fn(&str) -> bool| {
        calls.iter().filter(|(call, _)| wanted(call)).map(|(_, count)| *count).sum::<u64>() as f64
    };
    let each = |total: f64| total / passes as f64;
    let mut limits = Limits::default();
    limits.tell("passes", passes as f64);
    limits.hold(
        "processor time of agent, netd and their children per pass, ms",
        each(cpu[0] + cpu[1]),
        CPU_MS,
    );
    limits.tell("of it netd, ms", each(cpu[1]));
    limits.hold("lists of containers per pass", each(count(&|call| call == LIST)), 1.0);
    // One more than the tenth, as a window may begin with it.
    let seldom = 2.0 * (passes as f64 / 10.0).ceil();
    limits.hold("lists of networks and volumes", count(&|call| SELDOM.contains(&call)), seldom);
    let others = |call: &str| call != LIST && !SELDOM.contains(&call) && call.starts_with("GET ");
    limits.hold("other questions to the engine", count(&others), 0.0);
    limits.hold("writes to the engine", count(&|call| !call.starts_with("GET ")), 0.0);
    limits.hold("files written", changed.len() as f64, 0.0);
    for (call, count) in calls.iter().filter(|(call, _)| others(call) || !call.starts_with("GET ")) {
        limits.tell(call, *count as f64);
    }
    for path in changed {
        limits.tell(path.display().to_string(), 1.0);
    }
    limits
}

/// Milliseconds of a process and its ended children.
fn used(process: Process) -> anyhow::Result<f64> {
    Ok((process.cpu()? + process.cpu_of_children()?).as_secs_f64() * 1e3)
}

fn since(before: &Calls, mut now: Calls) -> Calls {
    for (call, count) in before {
        if let Some(later) = now.get_mut(call) {
            *later -= count;
        }
    }
    now.retain(|_, count| *count > 0);
    now
}

/// Every file, with what changes when it is written or replaced. Logs are left out.
fn files(folder: &Path) -> anyhow::Result<BTreeMap<PathBuf, (u64, i64, i64)>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let (path, meta) = (entry.path(), entry.metadata()?);
            if meta.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|extension| extension != "log") {
                found.insert(path, (meta.ino(), meta.ctime(), meta.ctime_nsec()));
            }
        }
    }
    Ok(found)
}

fn changed<T: PartialEq>(before: &BTreeMap<PathBuf, T>, after: &BTreeMap<PathBuf, T>) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let new = after.iter().filter(|(path, what)| before.get(*path) != Some(what)).map(|(path, _)| path);
    gone.chain(new).cloned().collect()
}
