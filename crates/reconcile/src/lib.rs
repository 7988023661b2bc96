//! Pure: what one host has to do to become what the control plane wants (`plan`), item by item. It decides; `host-drivers`
//! observes and does.

pub mod firewall;
