//! A network between agents and one server: frames take ten milliseconds; a connection can break, which both sides
//! notice, or fall silent, which neither does.

use std::collections::BTreeMap;
use std::time::Duration;

use host_proto::Moment;
use host_proto::agent::Failure;
use host_proto::message::CloseCode;

use crate::control::Control;
use crate::host::Host;

const LATENCY: Duration = Duration::from_millis(10);

/// What travels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wire {
    Text(String),
    Ping,
    Pong,
    Close(CloseCode),
}

#[derive(Debug)]
enum Arrival {
    AtServer(u32, Wire),
    AtAgent(u32, Wire),
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) agent: usize,
    silent: bool,
}

pub(crate) struct World {
    pub(crate) now: Moment,
    pub(crate) control: Control,
    pub(crate) hosts: Vec<Host>,
    pub(crate) pipes: BTreeMap<u32, Pipe>,
    /// What the server answers to an upgrade instead of 101: status, Retry-After.
    pub(crate) refuse: Option<(u16, Option<Duration>)>,
    /// Connections cannot be made at all.
    pub(crate) unreachable: bool,
    pub(crate) attempts: u32,
    arrivals: BTreeMap<(Moment, u64), Arrival>,
    order: u64,
    next_pipe: u32,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            // Late enough for tokens that are months old.
            now: Moment(10_000_000_000),
            control: Control::new(),
            hosts: vec![Host::new("boot-1", 7)],
            pipes: BTreeMap::new(),
            refuse: None,
            unreachable: false,
            attempts: 0,
            arrivals: BTreeMap::new(),
            order: 0,
            next_pipe: 1,
        };
        world.start(0);
        world
    }

    /// A world whose one host is connected and has applied its first state.
    pub(crate) fn connected() -> Self {
        let mut world = Self::new();
        world.settle();
        world
    }

    pub(crate) fn host(&mut self) -> &mut Host {
        &mut self.hosts[0]
    }

    pub(crate) fn start(&mut self, agent: usize) {
        self.hosts[agent].start(self.now);
        self.drain();
    }

    /// Until what is wanted runs on the first host.
    pub(crate) fn settle(&mut self) {
        let wanted = self.control.wanted;
        let at = self.now;
        assert!(
            self.run_until(Duration::from_secs(120), |world| {
                world.hosts[0].session.is_fresh() && world.hosts[0].runs(wanted)
            }),
            "from {at:?} to {:?}: the host does not get what it should run\n{:#?}",
            self.now,
            self.hosts[0]
        );
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    /// Runs until something is so; false when the time is over before.
    pub(crate) fn run_until(&mut self, time: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + time;
        self.drain();
        loop {
            if done(self) {
                return true;
            }
            let Some(next) = self.next_moment().filter(|next| *next <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            self.step();
        }
    }

    fn next_moment(&self) -> Option<Moment> {
        let arrival = self.arrivals.keys().next().map(|(at, _)| *at);
        let hosts = self.hosts.iter().filter_map(Host::deadline);
        hosts.chain(arrival).chain(self.control.deadline()).min()
    }

    fn step(&mut self) {
        let due = self.arrivals.first_key_value().filter(|((at, _), _)| *at <= self.now).map(|(key, _)| *key);
        match due.and_then(|key| self.arrivals.remove(&key)) {
            Some(Arrival::AtServer(pipe, wire)) => self.at_server(pipe, wire),
            Some(Arrival::AtAgent(pipe, wire)) => self.at_agent(pipe, wire),
            None => {
                self.control.tick(self.now);
                for host in &mut self.hosts {
                    host.tick(self.now);
                }
            }
        }
        self.drain();
    }

    fn at_server(&mut self, pipe: u32, wire: Wire) {
        match wire {
            Wire::Close(_) => {
                self.control.lost(self.now, pipe);
                self.hang_up(pipe, Failure::Closed { code: Some(1000), reason: String::new() });
            }
            wire => {
                if wire == Wire::Ping {
                    self.send(pipe, false, Wire::Pong);
                }
                self.control.arrived(self.now, pipe, wire);
            }
        }
    }

    fn at_agent(&mut self, pipe: u32, wire: Wire) {
        let Some(agent) = self.pipes.get(&pipe).map(|pipe| pipe.agent) else { return };
        match wire {
            Wire::Close(code) => {
                let failure = Failure::Closed { code: Some(code.number()), reason: code.reason().to_owned() };
                self.hang_up(pipe, failure);
            }
            wire => {
                if wire == Wire::Ping {
                    self.send(pipe, true, Wire::Pong);
                }
                self.hosts[agent].arrived(self.now, wire);
            }
        }
    }

    fn hang_up(&mut self, pipe: u32, failure: Failure) {
        if let Some(pipe) = self.pipes.remove(&pipe) {
            self.hosts[pipe.agent].failed(self.now, failure);
        }
    }

    /// Carries out what all sessions want, until nobody wants anything.
    fn drain(&mut self) {
        loop {
            let mut quiet = true;
            for agent in 0..self.hosts.len() {
                for wish in self.hosts[agent].drain(self.now) {
                    quiet = false;
                    self.host_wish(agent, wish);
                }
            }
            for (pipe, wire) in self.control.drain(self.now) {
                quiet = false;
                self.send(pipe, false, wire);
            }
            if quiet {
                return;
            }
        }
    }

    fn host_wish(&mut self, agent: usize, wish: crate::host::Wish) {
        use crate::host::Wish;
        match wish {
            Wish::Connect(token) => self.connect(agent, &token),
            Wish::Send(wire) => {
                if let Some(pipe) = self.pipe_of(agent) {
                    self.send(pipe, true, wire);
                }
            }
            Wish::Abort => {
                if let Some(pipe) = self.pipe_of(agent) {
                    self.pipes.remove(&pipe);
                    self.control.lost(self.now, pipe);
                }
            }
        }
    }

    fn connect(&mut self, agent: usize, token: &str) {
        self.attempts += 1;
        if self.unreachable {
            return self.hosts[agent].failed(self.now, Failure::Broken("no route".to_owned()));
        }
        let refused = self.refuse.or_else(|| (!self.control.knows(self.now, token)).then_some((401, None)));
        if let Some((code, retry_after)) = refused {
            let failure = Failure::Status { code, retry_after, text: "no".to_owned() };
            return self.hosts[agent].failed(self.now, failure);
        }
        let pipe = self.next_pipe;
        self.next_pipe += 1;
        self.pipes.insert(pipe, Pipe { agent, silent: false });
        self.control.upgraded(self.now, pipe, token);
        self.hosts[agent].connected(self.now);
    }

    fn send(&mut self, pipe: u32, to_server: bool, wire: Wire) {
        let Some(state) = self.pipes.get(&pipe) else { return };
        if state.silent {
            return;
        }
        self.order += 1;
        let arrival = if to_server { Arrival::AtServer(pipe, wire) } else { Arrival::AtAgent(pipe, wire) };
        self.arrivals.insert((self.now + LATENCY, self.order), arrival);
    }

    pub(crate) fn pipe_of(&self, agent: usize) -> Option<u32> {
        self.pipes.iter().rev().find(|(_, pipe)| pipe.agent == agent).map(|(pipe, _)| *pipe)
    }

    /// Nothing comes through any more, and nobody notices.
    pub(crate) fn fall_silent(&mut self, agent: usize) {
        for pipe in self.pipes.values_mut().filter(|pipe| pipe.agent == agent) {
            pipe.silent = true;
        }
        self.arrivals.retain(|_, arrival| {
            let (Arrival::AtServer(pipe, _) | Arrival::AtAgent(pipe, _)) = arrival;
            self.pipes.get(pipe).is_some_and(|pipe| !pipe.silent)
        });
    }

    /// Both sides notice.
    pub(crate) fn break_off(&mut self, agent: usize) {
        while let Some(pipe) = self.pipe_of(agent) {
            self.control.lost(self.now, pipe);
            self.hang_up(pipe, Failure::Broken("reset".to_owned()));
        }
        self.drain();
    }

    /// The agent dies without a word and starts from its disk; the server does not notice when it is silent.
    pub(crate) fn restart_host(&mut self, agent: usize, silent: bool) {
        while let Some(pipe) = self.pipe_of(agent) {
            self.pipes.remove(&pipe);
            if !silent {
                self.control.lost(self.now, pipe);
            }
        }
        self.hosts[agent].restart();
        self.start(agent);
    }

    /// The server dies without a word and starts from its store.
    pub(crate) fn restart_server(&mut self) {
        self.control.restart();
        let pipes: Vec<u32> = self.pipes.keys().copied().collect();
        for pipe in pipes {
            self.hang_up(pipe, Failure::Broken("reset".to_owned()));
        }
        self.drain();
    }

    /// Puts a text into a connection, as if one side had said it.
    pub(crate) fn inject(&mut self, agent: usize, to_server: bool, text: &str) {
        if let Some(pipe) = self.pipe_of(agent) {
            self.send(pipe, to_server, Wire::Text(text.to_owned()));
        }
    }
}
