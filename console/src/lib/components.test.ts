// Components and packages as lists; whatever has another shape is left as it came.
import { expect, test } from 'vitest';
import { builtOf, packagesOf } from './components';

const at = (version?: string) => ({ metadata: version ? [{ key: 'version', type: 'string', value: version }] : [] });

test('components are listed by kind, with the version that all of them share, or each its own', () => {
  expect(builtOf({ receivers: { components: { otlp: at('v1'), hostmetrics: at('v1') } }, exporters: { components: { debug: at('v1'), file: at('v2') } } })).toEqual([
    { kind: 'receivers', names: ['hostmetrics', 'otlp'], version: 'v1' },
    { kind: 'exporters', names: ['debug v1', 'file v2'], version: null },
  ]);
  expect([builtOf(null), builtOf([]), builtOf({}), builtOf({ a: 1 }), builtOf({ receivers: { metadata: [] } })]).toEqual([null, null, null, null, null]);
});

test('packages are rows', () => {
  expect(packagesOf({ error: null, packages: { 'edge-agent': { agent_has_version: '1.2.0', server_offered_version: '1.3.0', status: 'installing', download_percent: 40.2 } } })).toEqual([
    { name: 'edge-agent', has: '1.2.0', offered: '1.3.0', status: 'installing, 40 %', error: '' },
  ]);
  expect([packagesOf(null), packagesOf({}), packagesOf({ a: 'b' }), packagesOf({ a: {} })]).toEqual([null, null, null, null]);
});
