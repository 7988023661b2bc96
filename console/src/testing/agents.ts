// Agents for component tests: a plain one, to be changed where a test needs it.
import type { AgentDetail, AgentSummary, Assignment } from '../lib/api';

export const NOW = Date.parse('2026-11-30T03:15:00.000Z');

export function summary(over: Partial<AgentSummary> = {}): AgentSummary {
  return {
    instance_uid: '0195f0a0-7d0c-7cc0-8000-000000000001',
    name: 'otelcol',
    namespace: null,
    version: '0.149.0',
    instance_id: null,
    host: 'host-1',
    os: 'linux',
    state: 'connected',
    transport: 'websocket',
    peer_address: '10.0.0.1:5000',
    connected_since: '2026-11-30T02:15:00.000Z',
    last_seen: '2026-11-30T03:14:56.000Z',
    healthy: true,
    health_status: null,
    remote_config: null,
    capabilities: ['ReportsStatus', 'AcceptsRemoteConfig'],
    replaced_by: null,
    replaces: null,
    labels: {},
    config: { state: 'unmanaged', config: null, revision: null, assignment: null, override: false, reason: null },
    ...over,
  };
}

export function detail(over: Partial<AgentDetail> = {}): AgentDetail {
  return {
    ...summary(),
    description: { identifying: [{ key: 'service.name', type: 'string', value: 'otelcol' }], non_identifying: [] },
    capability_bits: '3',
    unknown_capability_bits: '0',
    health: null,
    effective_config: null,
    components: null,
    package_statuses: null,
    connection_settings_status: null,
    custom_capabilities: [],
    remote_config_status: null,
    sequence_num: 7,
    enrolled_at: null,
    credential: null,
    first_seen: null,
    offered: null,
    drift: null,
    ...over,
  };
}

/** An assignment that rolls, 12 of 38 done. */
export function assignment(over: Partial<Assignment> = {}): Assignment {
  return {
    id: '7', config: 'web', selector: 'env=prod', priority: 0, state: 'rolling', revision: 3, settled_revision: 2, batch_percent: 10, pause: null,
    progress: { matched: 41, eligible: 38, released: 16, applied: 12, applying: 3, failed: 1, waiting: 22, offline: 0, incapable: 2, outranked: 1 },
    created_by: 'olga', created_at: '2026-11-30T03:00:00.000Z', updated_at: '2026-11-30T03:14:00.000Z',
    ...over,
  };
}

/** A name as a hostile agent would send it (case S38), with a direction override in it. */
export const HOSTILE = `'><img src=x onerror="alert(1)">\u202egnp`;
