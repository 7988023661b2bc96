// Build and test settings of the console. The output in dist/ is embedded into the muster binary and served under a
// content security policy that allows nothing inline, so nothing may be turned into a data: address here.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

const server = process.env.MUSTER_URL ?? 'http://127.0.0.1:5050';

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  build: {
    target: ['chrome123', 'firefox121', 'safari17.5'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // Component tests need Svelte's browser half although they run in Node.
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  server: { proxy: { '/api': { target: server, secure: false } } },
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.ts'],
    // Component tests share nothing but the document, which setup.ts cleans: one environment each worker is enough.
    isolate: false,
    setupFiles: ['src/testing/setup.ts'],
  },
}));
