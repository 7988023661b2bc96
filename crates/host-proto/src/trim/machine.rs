//! What a host says that it is, and how much of it is in use. More cannot be free than there is.

use super::{Trim, line, list, shorten};
use crate::limits::{MAX_ITEMS, MAX_REPLICAS, NAME, PARTS, WORD};
use crate::message::{
    Disk, DiskMetrics, DockerFacts, EngineMetrics, Facts, HostMetrics, Metrics, NetMetrics, ReplicaMetrics,
    WireGuardFacts,
};

impl Trim for Facts {
    fn trim(&mut self) {
        let Self {
            hostname,
            kernel,
            arch,
            os_release,
            cpu_count: _,
            memory_bytes: _,
            disk,
            docker,
            wg,
            public_ips,
            private_ips,
            virtualization,
        } = self;
        [kernel, arch, virtualization].into_iter().for_each(|text| line(text, WORD));
        [hostname, os_release].into_iter().for_each(|text| line(text, NAME));
        list(disk, PARTS);
        docker.trim();
        wg.trim();
        // A host has an address on each of its networks.
        [public_ips, private_ips].into_iter().for_each(|addresses| shorten(addresses, MAX_ITEMS));
    }
}

impl Trim for Disk {
    fn trim(&mut self) {
        let Self { mount, total_bytes, free_bytes, fs } = self;
        line(mount, NAME);
        line(fs, WORD);
        *free_bytes = (*free_bytes).min(*total_bytes);
    }
}

impl Trim for DockerFacts {
    fn trim(&mut self) {
        let Self {
            version,
            api_min,
            api_max,
            api,
            storage_driver,
            firewall_backend,
            cgroup_version,
            live_restore: _,
            root_dir,
        } = self;
        let words = [version, api_min, api_max, api, storage_driver, firewall_backend, cgroup_version];
        words.into_iter().for_each(|text| line(text, WORD));
        line(root_dir, NAME);
    }
}

impl Trim for WireGuardFacts {
    fn trim(&mut self) {
        let Self { mode } = self;
        line(mode, WORD);
    }
}

impl Trim for Metrics {
    fn trim(&mut self) {
        let Self { seq: _, at, host, engine, agent: _, replicas, dropped_before: _ } = self;
        line(at, WORD);
        host.trim();
        engine.trim();
        list(replicas, MAX_REPLICAS);
    }
}

impl Trim for HostMetrics {
    fn trim(&mut self) {
        let Self {
            cpu_busy_us,
            cpu_total_us,
            load1: _,
            mem_total_bytes,
            mem_available_bytes,
            swap_used_bytes: _,
            disk,
            net,
        } = self;
        *cpu_busy_us = (*cpu_busy_us).min(*cpu_total_us);
        *mem_available_bytes = (*mem_available_bytes).min(*mem_total_bytes);
        list(disk, PARTS);
        // An interface for each network and each container.
        list(net, MAX_ITEMS);
    }
}

impl Trim for DiskMetrics {
    fn trim(&mut self) {
        let Self { mount, total_bytes, free_bytes, inodes_total, inodes_free } = self;
        line(mount, NAME);
        *free_bytes = (*free_bytes).min(*total_bytes);
        *inodes_free = (*inodes_free).min(*inodes_total);
    }
}

impl Trim for NetMetrics {
    fn trim(&mut self) {
        let Self { iface, rx_bytes: _, tx_bytes: _, rx_drops: _ } = self;
        line(iface, WORD);
    }
}

impl Trim for EngineMetrics {
    fn trim(&mut self) {
        let Self { containers: _, up: _, facts } = self;
        facts.trim();
    }
}

impl Trim for ReplicaMetrics {
    fn trim(&mut self) {
        // Numbers only; identifiers are checked where they are read.
        let Self {
            replica_id: _,
            cpu_us: _,
            mem_bytes: _,
            mem_limit_bytes: _,
            rx_bytes: _,
            tx_bytes: _,
            pids: _,
        } = self;
    }
}
