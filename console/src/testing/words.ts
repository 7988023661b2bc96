// Text as a snippet, for tests of components that are given their content.
import { createRawSnippet, type Snippet } from 'svelte';

export function words(text: string): Snippet {
  return createRawSnippet(() => ({ render: () => `<span>${text}</span>` }));
}
