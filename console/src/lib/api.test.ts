// The API client: problems become errors with their field, sessions that end are told, writes carry the csrf token.
import { expect, test, vi } from 'vitest';
import { Api, ApiError } from './api';

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

test('a problem document becomes an error that names the field', async () => {
  const api = new Api(async () => json(400, { title: 'bad selector', detail: "column 3: expected a value, found '='", field: 'selector' }));
  const error = await api.agents('selector=a%3D%3D%3D').catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ status: 400, title: 'bad selector', message: "column 3: expected a value, found '='", field: 'selector' });
});

test("a proxy's page in place of an answer is told by its status", async () => {
  const api = new Api(async () => new Response('<html>Bad Gateway</html>', { status: 502, headers: { 'retry-after': '3' } }));
  await expect(api.overview()).rejects.toMatchObject({ status: 502, title: 'HTTP 502', retryAfter: 3 });
});

test('no answer at all is an error of its own', async () => {
  const api = new Api(async () => {
    throw new TypeError('failed to fetch');
  });
  await expect(api.overview()).rejects.toMatchObject({ status: 0 });
});

test('an ended session is told, a wrong password is not', async () => {
  const api = new Api(async () => json(401, { title: 'not signed in' }));
  api.onSignedOut = vi.fn();
  await expect(api.signIn('a', 'b')).rejects.toThrow();
  expect(api.onSignedOut).not.toHaveBeenCalled();
  await expect(api.overview()).rejects.toThrow();
  expect(api.onSignedOut).toHaveBeenCalledTimes(1);
});

test('writes carry the csrf token of the session', async () => {
  const calls: [string, RequestInit | undefined][] = [];
  const api = new Api(async (url, init) => {
    calls.push([url, init]);
    return init?.method === 'DELETE' ? new Response(null, { status: 204 }) : json(200, { user: { name: 'a', role: 'admin' }, csrf: 'c1', expires_at: '' });
  });
  await api.signIn('a', 'b');
  await api.forget('x/../y');
  expect(calls[1]?.[0]).toBe('/api/v1/agents/x%2F..%2Fy');
  expect(calls[1]?.[1]?.headers).toMatchObject({ 'x-csrf-token': 'c1' });
});

test("ages follow the server's clock when ours is off", async () => {
  const ahead = new Date(Date.now() + 600_000).toUTCString();
  const api = new Api(async () => json(200, {}, { date: ahead }));
  await api.overview();
  expect(Math.round(api.skew / 60_000)).toBe(10);
});
