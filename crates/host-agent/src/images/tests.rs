//! What goes when the disk is full, and what stays whatever happens.

use serde_json::json;

use super::*;

/// A state whose replicas run these images, each in a release of that number.
fn state(replicas: &[(&str, u64)]) -> DesiredState {
    let mut state = DesiredState::empty("epoch", 1);
    for (number, (image, release)) in replicas.iter().enumerate() {
        let spec = json!({
            "replica_id": format!("rep_{number}"), "service_id": "svc_web", "release_id": format!("rel_{release}"),
            "project": "shop", "service": "web", "number": number, "name": format!("web-{number}"),
            "spec_hash": "h", "image": {"ref": image},
        });
        state.replicas.push(serde_json::from_value(spec).unwrap());
    }
    state
}

/// A disk that is so full at each look, in percent.
#[derive(Default)]
struct Disk {
    seen: Vec<u8>,
    asked: Vec<String>,
    in_use: bool,
}

impl Disk {
    fn of(seen: &[u8]) -> Self {
        Self { seen: seen.to_vec(), ..Self::default() }
    }
}

impl Shelf for Disk {
    fn fullness(&mut self) -> Option<Fullness> {
        (!self.seen.is_empty()).then(|| Fullness { bytes_pct: self.seen.remove(0), inodes_pct: 1 })
    }

    async fn remove(&mut self, image: &str) -> Result<(), Trouble> {
        self.asked.push(image.to_owned());
        let trouble = || Trouble { text: "in use".to_owned(), kind: reconcile::TroubleKind::Retry };
        if self.in_use { Err(trouble()) } else { Ok(()) }
    }
}

/// Five releases, a minute apart; all but `app:0` were pulled here.
fn five_releases(path: PathBuf) -> Images {
    let images = Images::open(path);
    for number in 0..5 {
        let image = format!("app:{number}");
        if number > 0 {
            images.pulled(&image);
        }
        images.note(&state(&[(&image, number)]), number * 60_000);
    }
    images
}

const LATE: u64 = 100 * 60_000;

#[tokio::test]
async fn h52_h62_a_full_disk_loses_old_images_of_ours_until_there_is_room_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.json");
    let images = five_releases(path.clone());
    let gc = Gc { keep_releases: 1, ..Gc::default() };
    let wanted = (gc, needed(&state(&[("app:2", 2)])));
    let try_all = async |seen: &[u8], now_ms| {
        let mut disk = Disk::of(seen);
        let gone = images.sweep(wanted.clone(), now_ms, &mut disk).await;
        (gone, disk.asked)
    };
    assert_eq!(try_all(&[79], LATE).await, (0, vec![]), "there is room");
    assert_eq!(try_all(&[95, 95, 95, 95], 0).await, (0, vec![]), "nothing young goes");
    // 0 is somebody else's, 2 is wanted, 4 is the last release.
    assert_eq!(try_all(&[95, 95, 69, 69], LATE).await, (1, vec!["app:1".to_owned()]), "until there is room");
    assert_eq!(try_all(&[95, 95, 95, 95], LATE).await, (1, vec!["app:3".to_owned()]));
    assert_eq!(try_all(&[95, 95, 95, 95], LATE).await, (0, vec![]), "and nothing twice");
    let again = Images::open(path);
    assert_eq!(*again.lock(), *images.lock(), "all of it is on the disk");
}

#[tokio::test]
async fn h52_an_image_that_something_uses_stays_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let images = five_releases(folder.path().join("images.json"));
    let gc = Gc { keep_releases: 3, ..Gc::default() };
    for _ in 0..2 {
        let mut disk = Disk { in_use: true, ..Disk::of(&[90, 90]) };
        let gone = images.sweep((gc, BTreeSet::new()), LATE, &mut disk).await;
        assert_eq!((gone, disk.asked.len()), (0, 1));
    }
}

#[test]
fn a_state_that_is_in_place_already_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.json");
    let images = five_releases(path.clone());
    std::fs::remove_file(&path).unwrap();
    images.note(&state(&[("app:4", 4), ("app:4", 4)]), LATE);
    assert!(!path.exists(), "it was written");
    images.note(&state(&[("app:4", 5)]), LATE);
    assert!(path.exists());
}

#[test]
fn a_list_that_cannot_be_read_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.json");
    std::fs::write(&path, "{").unwrap();
    let images = Images::open(path);
    assert!(images.lock().pulled.is_empty());
    images.pulled("app:1");
    images.note(&state(&[("app:1", 1)]), LATE);
    assert!(Images::open(images.path.clone()).lock().pulled.contains("app:1"));
}
