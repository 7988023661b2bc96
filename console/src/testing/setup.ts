// Before every component test: what happy-dom leaves out, and a clean document after.
import { cleanup } from '@testing-library/svelte';
import { afterEach } from 'vitest';

afterEach(cleanup);
