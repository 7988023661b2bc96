// The report of an agent: an agent that reports nothing, one that reports all, the Collector's extension.
import { render } from '@testing-library/svelte';
import { expect, test } from 'vitest';
import { detail, summary } from '../testing/agents';
import AgentReport from './AgentReport.svelte';

test('what was not reported says so', () => {
  const { getByText, queryByText } = render(AgentReport, { agent: detail({ description: null, capabilities: [] }) });
  getByText('The agent reports no health.');
  getByText('The agent does not report the configuration it runs.');
  expect(queryByText('Packages')).toBeNull();
});

test('s18 masked secrets are noted, and what is not text is not shown as text', () => {
  const files = [
    { name: '', content_type: 'text/yaml', body: 'a: 1', redacted: true, encoding: 'utf8' as const },
    { name: 'key.p12', content_type: null, body: 'AAECAw==', redacted: false, encoding: 'base64' as const },
  ];
  const { getByText, getAllByText } = render(AgentReport, { agent: detail({ effective_config: { files, hash: 'ff' } }) });
  getByText('unnamed file');
  expect(getAllByText(/secrets in it are masked/)).toHaveLength(1);
  getByText('Not text: 4 bytes.');
});

test('a failed configuration shows the reason, unknown capabilities their bits', () => {
  const { getByText } = render(AgentReport, {
    agent: detail({ config: { ...summary().config, state: 'failed', config: 'web', revision: 3, reason: 'exit code 1' }, unknown_capability_bits: '9223372036854972416', custom_capabilities: ['net.example.pause'] }),
  });
  getByText('exit code 1');
  getByText(/bits 0x8000000000030000/);
  getByText('net.example.pause');
});

test("the Collector's extension is told how to become configurable", () => {
  const { getByText } = render(AgentReport, { agent: detail({ name: 'otelcol', capabilities: ['ReportsStatus', 'ReportsEffectiveConfig'] }) });
  getByText('It can be seen, not configured.');
  getByText('How to run it under the supervisor');
});
