// `npm run dev:mock`: the mock server and Vite's development server in front of it. To work against a real server
// instead: MUSTER_URL=https://127.0.0.1:5050 npm run dev.
import { createServer } from 'vite';
import { startMock } from './server.mjs';

const { url } = await startMock({ extra: Number(process.env.MOCK_AGENTS ?? 0), pace: 1500 });
process.env.MUSTER_URL = url;
const vite = await createServer();
await vite.listen();
vite.printUrls();
console.log('  login admin / admin, operator / operator or viewer / viewer');
