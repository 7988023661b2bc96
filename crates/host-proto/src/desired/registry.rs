//! Which credential is for which image.

use super::{Image, RegistryAuth};

/// The registry of an image reference, host and port; `docker.io` when it names none.
pub fn registry_of(reference: &str) -> &str {
    let first = reference.split_once('/').map(|(first, _)| first);
    first.filter(|first| first.contains(['.', ':']) || *first == "localhost").unwrap_or("docker.io")
}

impl Image {
    /// The registry that it comes from, host and port.
    pub fn registry(&self) -> &str {
        registry_of(&self.reference)
    }
}

impl RegistryAuth {
    /// Whether it is for this registry. Docker's own goes by several names.
    pub fn is_for(&self, registry: &str) -> bool {
        let plain = match self.registry.as_str() {
            "index.docker.io" | "registry-1.docker.io" | "https://index.docker.io/v1/" => "docker.io",
            other => other,
        };
        plain == registry
    }
}
