// Svelte's settings: runes everywhere, styles in their own files (never inside script, the policy forbids it).
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

export default {
  preprocess: vitePreprocess(),
  compilerOptions: { runes: true, css: 'external' },
};
