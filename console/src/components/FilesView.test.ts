// Files of a revision: named, typed, empty ones said.
import { render } from '@testing-library/svelte';
import { test } from 'vitest';
import FilesView from './FilesView.svelte';

test('an empty file is said to be empty', () => {
  const { getByText } = render(FilesView, { files: [{ name: '', content_type: 'text/yaml', body: '' }] });
  getByText('unnamed file');
  getByText('The file is empty.');
});
