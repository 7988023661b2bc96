//! Files are written in a directory of each test's own.

use host_proto::Secret;

use super::*;

struct World {
    _root: tempfile::TempDir,
    files: Files,
    state: DesiredState,
}

impl World {
    /// In memory, so that secrets need no mount.
    fn new(file: File) -> Self {
        let root = tempfile::tempdir_in("/dev/shm").unwrap();
        let places = FilePlaces { files: root.path().join("files"), secrets: root.path().join("secrets") };
        let mut state = DesiredState::empty("epoch", 1);
        state.files.push(file);
        Self { _root: root, files: Files::new(places), state }
    }

    fn seen(&self) -> Option<FileSeen> {
        self.files.observe(&self.state).known().unwrap().get(&self.state.files[0].id).copied()
    }

    fn write(&self) -> Result<(), Trouble> {
        self.files.write(&self.state.files[0])
    }

    fn path(&self) -> PathBuf {
        self.files.places.of(&self.state.files[0])
    }
}

fn file(content: &[u8], secret: bool) -> File {
    let here = fs::metadata("/proc/self").unwrap();
    File {
        id: "fil_1".parse().unwrap(),
        sha256: hex::encode(Sha256::digest(content)),
        size_bytes: content.len() as u64,
        inline_b64: Some(Secret::new(STANDARD.encode(content))),
        mode: 0o440,
        uid: here.uid(),
        gid: here.gid(),
        secret,
    }
}

#[test]
fn a_file_is_written_with_its_mode_and_seen_to_be_right() {
    for secret in [false, true] {
        let world = World::new(file(b"hello", secret));
        assert_eq!(world.seen(), None);
        world.write().unwrap();
        assert_eq!(world.seen(), Some(FileSeen::Right));
        let meta = fs::metadata(world.path()).unwrap();
        assert_eq!((meta.permissions().mode() & 0o7777, meta.len()), (0o440, 5));
        assert_eq!(world.path().parent().unwrap().ends_with("secrets"), secret);
    }
}

#[test]
fn a_file_that_somebody_changed_is_wrong_and_written_again() {
    let world = World::new(file(b"hello", false));
    world.write().unwrap();
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(world.seen(), Some(FileSeen::Wrong));
    world.write().unwrap();
    fs::remove_file(world.path()).unwrap();
    fs::write(world.path(), b"hullo").unwrap();
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o440)).unwrap();
    assert_eq!(world.seen(), Some(FileSeen::Wrong));
    world.write().unwrap();
    assert_eq!(world.seen(), Some(FileSeen::Right));
}

#[test]
fn a_content_that_is_not_what_its_hash_says_is_refused() {
    let mut wrong = file(b"hello", false);
    wrong.sha256 = hex::encode(Sha256::digest(b"other"));
    let world = World::new(wrong);
    assert_eq!(world.write().unwrap_err().kind, TroubleKind::Refused);
    assert_eq!(world.seen(), None);
}

#[test]
fn what_an_interrupted_write_left_is_swept_and_what_is_not_ours_stays() {
    let world = World::new(file(b"hello", false));
    world.files.prepare().unwrap();
    let folder = world.path().parent().unwrap().to_owned();
    fs::write(folder.join(".muster-abc"), b"half").unwrap();
    fs::write(folder.join("notes.txt"), b"mine").unwrap();
    world.files.prepare().unwrap();
    assert!(!folder.join(".muster-abc").exists());
    assert!(folder.join("notes.txt").exists());
    assert_eq!(world.seen(), None);
}

#[test]
fn a_removed_file_is_gone_and_removing_it_again_is_fine() {
    let world = World::new(file(b"hello", true));
    world.write().unwrap();
    let id = world.state.files[0].id.clone();
    world.files.remove(&id).unwrap();
    assert_eq!(world.seen(), None);
    world.files.remove(&id).unwrap();
}

#[test]
fn files_that_are_written_at_the_same_time_do_not_take_each_other_for_interrupted() {
    let world = World::new(file(b"hello", false));
    let files = &world.files;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for number in 0..50 {
                    let id = format!("fil_{thread}x{number}").parse().unwrap();
                    files.write(&File { id, ..file(b"hello", number % 2 == 0) }).unwrap();
                }
            });
        }
        // A container engine that comes back has the folders looked at while others write.
        scope.spawn(|| (0..50).for_each(|_| files.prepare().unwrap()));
    });
}

/// Needs root, as CI is; for another user nothing can be mounted.
#[test]
#[allow(clippy::print_stderr, reason = "says why there is nothing to see")]
fn a_directory_on_a_disk_gets_one_file_system_in_memory_however_many_ask_for_it() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: only root mounts file systems");
        return;
    }
    for _ in 0..20 {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let mounts = || {
            let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
            table.lines().filter(|line| line.contains(folder.path().to_str().unwrap())).count()
        };
        let together = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    together.wait();
                    memory::ensure(folder.path()).unwrap();
                });
            }
        });
        let made = mounts();
        for _ in 0..made {
            memory::release(folder.path()).unwrap();
        }
        assert_eq!((made, mounts()), (1, 0));
    }
}
