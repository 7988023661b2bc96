// Sets the chosen theme before the first paint. A file of its own because the policy forbids inline script; the rest
// of the theme's handling is in src/lib/theme.svelte.ts.
try {
  const theme = localStorage.getItem('muster.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: then the system's theme holds.
}
