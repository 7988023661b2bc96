//! Whatever breaks, in whatever order: no number is given twice, nothing is applied twice, nobody spins, and once the
//! network is well again the host runs what it should.

use std::time::Duration;

use proptest::prelude::*;

use crate::world::World;

#[derive(Debug, Clone)]
enum Fault {
    Wait(u32),
    Change,
    Break,
    Silence,
    RestartHost { silent: bool },
    Reboot,
    RestartServer,
    RestoreStore,
    Backup,
    Unreachable(bool),
    Refuse(bool),
    DiskFull(bool),
    Nonsense { to_server: bool },
    Repeat,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        6 => (1u32..120_000).prop_map(Fault::Wait),
        6 => Just(Fault::Change),
        3 => Just(Fault::Break),
        3 => Just(Fault::Silence),
        2 => any::<bool>().prop_map(|silent| Fault::RestartHost { silent }),
        1 => Just(Fault::Reboot),
        2 => Just(Fault::RestartServer),
        1 => Just(Fault::RestoreStore),
        1 => Just(Fault::Backup),
        2 => any::<bool>().prop_map(Fault::Unreachable),
        1 => any::<bool>().prop_map(Fault::Refuse),
        1 => any::<bool>().prop_map(Fault::DiskFull),
        1 => any::<bool>().prop_map(|to_server| Fault::Nonsense { to_server }),
        1 => Just(Fault::Repeat),
    ]
}

fn play(world: &mut World, faults: &[Fault]) {
    let mut backup = world.control.store.clone();
    for fault in faults {
        let now = world.now;
        match fault {
            Fault::Wait(millis) => world.run_for(Duration::from_millis(u64::from(*millis))),
            Fault::Change => world.control.change(now),
            Fault::Break => world.break_off(0),
            Fault::Silence => world.fall_silent(0),
            Fault::RestartHost { silent } => world.restart_host(0, *silent),
            Fault::Reboot => {
                // Real reboots take longer than that, and three within five minutes are two machines (R13).
                world.run_for(Duration::from_secs(200));
                world.host().boot_id.push('x');
                world.restart_host(0, true);
            }
            Fault::RestartServer => world.restart_server(),
            Fault::Backup => backup = world.control.store.clone(),
            Fault::RestoreStore => {
                // Tokens and ratchet are those of a store that was restored well; epochs are never used again.
                world.control.store.mark = backup.mark.clone();
                world.restart_server();
            }
            Fault::Unreachable(unreachable) => world.unreachable = *unreachable,
            Fault::Refuse(refuse) => world.refuse = refuse.then_some((503, None)),
            Fault::DiskFull(full) => world.host().disk.full = *full,
            Fault::Nonsense { to_server } => world.inject(0, *to_server, r#"{"type":"pong","data":7}"#),
            Fault::Repeat => {
                let epoch = world.control.store.mark.epoch.clone();
                let state = Box::new(host_proto::DesiredState::empty(epoch, 1));
                let frame = host_proto::Frame::plain(host_proto::ToAgent::DesiredState(state));
                world.inject(0, false, &frame.encode().unwrap());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_breaks_the_host_ends_up_with_what_it_should_run(
        faults in prop::collection::vec(fault(), 0..60)
    ) {
        let mut world = World::new();
        play(&mut world, &faults);
        world.unreachable = false;
        world.refuse = None;
        world.host().disk.full = false;
        // The longest pauses are those after a refusal, and a store that was restored may have refused.
        world.run_for(Duration::from_secs(20 * 60));
        let wanted = world.control.wanted;
        prop_assert!(world.hosts[0].runs(wanted), "{:#?}", world.hosts[0]);
        prop_assert!(world.hosts[0].session.is_fresh());
    }
}
