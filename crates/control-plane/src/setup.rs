//! What a server needs before it can serve, made where it is missing: the directory, the database, the key, the
//! certificate authority, a login, an enrolment token. Everything that is made is durable before it is shown.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::{EnrolmentToken, Role, UnixMillis};
use store::{
    AuditEntry, FIRST_LOGIN, NewCredential, NewUser, OpenOptions, RESTORED_AT, RESTORED_FROM, Store,
    StoreError,
};
use time::OffsetDateTime;
use zeroize::Zeroizing;

use crate::auth::{HashError, hash_password};
use crate::ca::{Authority, CaError, CertificateSource, FilesError, server_names};
use crate::clock;
use crate::config::{Config, DATABASE, TlsChoice};
use crate::opamp::Credentials;
use crate::random;
use crate::secrets::{KeyError, MasterKey, SealError, Sealer};

/// The user that a first start makes.
pub(crate) const ADMIN: &str = "admin";
pub(crate) const KEY_ID: &str = "master_key_id";
const CA_CERTIFICATE: &str = "ca_certificate";
const CA_KEY: &str = "ca_key";

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The data directory cannot be used.
    #[error("--data-dir: cannot {action} {}", path.display())]
    Directory {
        /// What was tried.
        action: &'static str,
        /// The directory or file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The data directory is someone else's: it must not be taken over.
    #[error(
        "--data-dir: {} holds other files and can be used by others (mode {mode:03o}): name a directory of its own, \
         which is made if it does not exist, or run chmod 700 on this one",
        path.display()
    )]
    Shared {
        /// The directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Another server has the data directory.
    #[error("--data-dir: another muster server is running on {}; stop it first, or use another directory", .0.display())]
    InUse(PathBuf),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key file cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A secret cannot be opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The certificate authority cannot be used.
    #[error(transparent)]
    Ca(#[from] CaError),
    /// The certificate in files cannot be used.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A password cannot be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// No randomness.
    #[error("the system gives no random bytes")]
    Random(#[source] io::Error),
}

/// What is shown once, on a first start.
#[derive(Clone, Default)]
pub struct FirstStart {
    /// The password of the user `admin`, if the user was made.
    pub admin_password: Option<String>,
    /// The enrolment token, if one was made.
    pub enrolment_token: Option<String>,
    /// Nobody has ever logged in, and no password was made now: the one of the first start may be lost, which is shown
    /// once and only when the server listens.
    pub is_login_lost: bool,
}

impl std::fmt::Debug for FirstStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FirstStart").finish_non_exhaustive()
    }
}

/// What a server works with.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) store: Store,
    pub(crate) credentials: Credentials,
    pub(crate) sealer: Sealer,
    pub(crate) certificates: Option<CertificateSource>,
    pub(crate) first_start: FirstStart,
    /// When the data was restored from a back-up, RFC 3339.
    pub(crate) restored_at: Option<String>,
}

/// Prepares everything.
pub(crate) async fn prepare(config: &Config) -> Result<Ready, SetupError> {
    make_directory(&config.data_dir)?;
    let store = open(config).await?;
    let sealer = sealer(config, &store).await?;
    let certificates = certificates(config, &store, &sealer).await?;
    let first_start = first_start(&store).await?;
    let restored_at = restored(&store).await?;
    let credentials = Credentials::default();
    for (hash, credential) in store.credential_hashes().await? {
        credentials.add(hash, &credential);
    }
    Ok(Ready { store, credentials, sealer, certificates, first_start, restored_at })
}

/// The directory holds keys and hashes: nobody else looks into it. One that is not ours, such as `/tmp` or a home,
/// is left as it is: taking it away from everyone else would break the machine.
fn make_directory(path: &Path) -> Result<(), SetupError> {
    let failed = |action| move |source| SetupError::Directory { action, path: path.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("make"))?;
    let mode = fs::metadata(path).map_err(failed("read"))?.permissions().mode();
    if mode & 0o077 != 0 {
        let entries: Vec<_> = fs::read_dir(path).and_then(|all| all.collect()).map_err(failed("read"))?;
        // The root of a fresh ext4 volume holds that one.
        let is_used = entries.iter().any(|entry| entry.file_name() != "lost+found");
        if is_used && !path.join(DATABASE).exists() {
            return Err(SetupError::Shared { path: path.to_owned(), mode: mode & 0o7777 });
        }
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(failed("protect"))?;
    }
    Ok(())
}

async fn open(config: &Config) -> Result<Store, SetupError> {
    let options = OpenOptions::serve(config.database(), config.version.clone());
    let opened = tokio::task::spawn_blocking(move || Store::open(options, clock::now())).await;
    match opened.map_err(|error| SetupError::Random(io::Error::other(error)))? {
        Err(StoreError::InUse { .. }) => Err(SetupError::InUse(config.data_dir.clone())),
        other => Ok(other?),
    }
}

async fn sealer(config: &Config, store: &Store) -> Result<Sealer, SetupError> {
    let sealed_with = store.setting(KEY_ID).await?;
    let key = MasterKey::load_or_make(&config.key_file, sealed_with.as_deref())?;
    if sealed_with.is_none() {
        store.put_setting(KEY_ID, key.id()).await?;
    }
    Ok(Sealer::new(&key))
}

async fn certificates(
    config: &Config,
    store: &Store,
    sealer: &Sealer,
) -> Result<Option<CertificateSource>, SetupError> {
    match &config.tls {
        TlsChoice::Off => Ok(None),
        TlsChoice::Files(files) => Ok(Some(CertificateSource::files(files.clone())?)),
        TlsChoice::Own => {
            let now = OffsetDateTime::now_utc();
            let authority = authority(store, sealer, now).await?;
            let path = config.ca_file();
            let failed = |source| SetupError::Directory { action: "write", path: path.clone(), source };
            write_atomically(&path, authority.certificate_pem().as_bytes(), 0o644).map_err(failed)?;
            let host = config.public_url.as_ref().map(|url| url.host.as_str());
            let names = server_names(host, &config.addresses());
            Ok(Some(CertificateSource::own(authority, names, now)?))
        }
    }
}

async fn authority(store: &Store, sealer: &Sealer, now: OffsetDateTime) -> Result<Authority, SetupError> {
    if let Some(certificate) = store.setting(CA_CERTIFICATE).await? {
        let sealed = store.secret(CA_KEY).await?.ok_or(CaError::Damaged)?;
        let key = sealer.open(CA_KEY, &sealed)?;
        let key = std::str::from_utf8(&key).map_err(|_| CaError::Damaged)?;
        return Ok(Authority::load(&certificate, key)?);
    }
    let (authority, key) = Authority::generate(now)?;
    let key = Zeroizing::new(key);
    // The key first: a certificate without its key would be a dead end, a key without certificate is overwritten.
    store.put_secret(CA_KEY, sealer.seal(CA_KEY, key.as_bytes())?, clock::now()).await?;
    store.put_setting(CA_CERTIFICATE, authority.certificate_pem()).await?;
    Ok(authority)
}

/// Makes the first user, if there is none.
async fn make_admin(store: &Store) -> Result<Option<String>, SetupError> {
    if !store.users().await?.is_empty() {
        return Ok(None);
    }
    let (password, password_hash) = new_password().await?;
    let user = NewUser { name: ADMIN.to_owned(), role: Role::Admin, password_hash, created_at: clock::now() };
    let entry = AuditEntry::of_system(user.created_at, "user.create", format!("user/{ADMIN}"));
    store.create_user(user, entry).await?;
    Ok(Some(password))
}

/// Whether the data comes from a back-up: agents may know a later past than this server does.
async fn restored(store: &Store) -> Result<Option<String>, SetupError> {
    let read =
        |text: Option<String>| text.and_then(|text| text.parse().ok()).map(UnixMillis).map(clock::rfc3339);
    let at = read(store.setting(RESTORED_AT).await?);
    let from = read(store.setting(RESTORED_FROM).await?);
    if let (Some(at), Some(from)) = (&at, &from) {
        tracing::info!(restored_at = %at, made_at = %from, "the data was restored at {at} from a back-up of {from}");
    }
    Ok(at)
}

/// Makes what a first start makes.
async fn first_start(store: &Store) -> Result<FirstStart, SetupError> {
    let admin_password = make_admin(store).await?;
    let is_login_lost = admin_password.is_none() && store.setting(FIRST_LOGIN).await?.is_none();
    Ok(FirstStart { admin_password, enrolment_token: make_token(store).await?, is_login_lost })
}

/// A password and its hash.
pub(crate) async fn new_password() -> Result<(String, String), SetupError> {
    let password = random::password().map_err(SetupError::Random)?;
    let text = Zeroizing::new(password.clone());
    let hash = tokio::task::spawn_blocking(move || hash_password(&text)).await;
    let hash = hash.map_err(|error| SetupError::Random(io::Error::other(error)))??;
    Ok((password, hash))
}

/// Makes the first enrolment token, if there never was one.
async fn make_token(store: &Store) -> Result<Option<String>, SetupError> {
    if !store.credentials().await?.is_empty() {
        return Ok(None);
    }
    let token = EnrolmentToken::from_random(random::bytes().map_err(SetupError::Random)?);
    let credential = NewCredential {
        label: "first start".to_owned(),
        hash: token.hash(),
        created_at: clock::now(),
        expires_at: None,
    };
    let told = serde_json::json!({ "label": credential.label, "expires_at": null });
    let entry = AuditEntry::of_system(credential.created_at, "token.create", "token").with(None, Some(told));
    store.create_credential(credential, entry).await?;
    Ok(Some(token.as_str().to_owned()))
}

/// A file that is either the old one or the new one, never half of it.
fn write_atomically(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let temporary = path.with_extension("new");
    fs::write(&temporary, content)?;
    fs::set_permissions(&temporary, fs::Permissions::from_mode(mode))?;
    fs::rename(&temporary, path)
}
