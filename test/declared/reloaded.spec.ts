import type { AdminClient } from '../admin/support/admin-client.js';
import { until } from '../support/gate.js';
import { clientOf, did, ServedFolder } from './support/served-folder.js';

/** Waits for a signal, and then does what its version says. */
const waiting = (name: string, version: number, end: string) => `
saga: ${name}
version: ${version}
steps:
  go: { waitFor: { signal: go } }
  end: { exec: { command: ${did(end)} } }
`;
const slow = (version: number, end: string) => `
saga: slow
version: ${version}
steps:
  work: { exec: { command: [sh, -c, 'echo "began" >> log; while [ ! -e go ]; do sleep 0.05; done; echo "worked" >> log'] } }
  end: { exec: { command: ${did(end)} } }
`;

let served: ServedFolder;
beforeEach(async () => void (served = await ServedFolder.create({ 'a.yaml': waiting('a', 1, 'first') })));
afterEach(() => served.end());

const startOf = async (client: AdminClient, saga: string): Promise<string> =>
  (await client.post('/api/sagas', { saga, input: {} })).body.id as string;
const go = (client: AdminClient, id: string) => client.post(`/api/sagas/${id}/signal`, { signal: 'go' });
const ended = async (client: AdminClient, id: string) =>
  (await client.get(`/api/sagas/${id}?wait=60s`)).body as { status: string; version: number };

test('a new version is used by new sagas, and those that run keep theirs', async () => {
  const daemon = await served.start();
  const client = clientOf(daemon);
  const old = await startOf(client, 'a');
  await served.write('a.yaml', waiting('a', 2, 'second'));
  await daemon.reload();
  expect(served.log.at(-1)).toBe('Reloaded: a@2. Without a file, until their sagas have ended: a@1');
  const fresh = await startOf(client, 'a');
  await Promise.all([go(client, old), go(client, fresh)]);
  expect(await ended(client, old)).toMatchObject({ status: 'completed', version: 1 });
  expect(await ended(client, fresh)).toMatchObject({ status: 'completed', version: 2 });
  expect((await served.did()).sort()).toEqual(['first', 'second']);
  await daemon.reload();
  expect(served.log.at(-1)).toBe('Reloaded: a@2');
});

test('a changed file without a new version is refused while sagas of it run, and used once they have ended', async () => {
  const daemon = await served.start();
  const client = clientOf(daemon);
  const old = await startOf(client, 'a');
  await served.write('a.yaml', waiting('a', 1, 'changed'));
  await daemon.reload();
  expect(served.log.at(-1)).toMatch(
    /^Reload refused, and the sagas stay as they are: .*a\.yaml:1:1: the file has changed, but its version 1 has not, and sagas of 'a' are running.*version: 2/,
  );
  await go(client, old);
  await ended(client, old);
  expect(await served.did()).toEqual(['first']);
  await daemon.reload();
  const fresh = await startOf(client, 'a');
  await go(client, fresh);
  await ended(client, fresh);
  expect(await served.did()).toEqual(['first', 'changed']);
});

test('a removed file runs its sagas to their end, and starts no new ones', async () => {
  await served.write('b.yaml', waiting('b', 1, 'b'));
  const daemon = await served.start();
  const client = clientOf(daemon);
  const old = await startOf(client, 'a');
  await served.remove('a.yaml');
  await daemon.reload();
  const refused = await client.post('/api/sagas', { saga: 'a', input: {} });
  expect([refused.status, refused.body.code]).toEqual([409, 'SAGA_REMOVED']);
  await go(client, old);
  expect((await ended(client, old)).status).toBe('completed');
  await daemon.reload();
  expect((await client.post('/api/sagas', { saga: 'a', input: {} })).status).toBe(404);
});

test('an invalid file changes nothing, and the log has its lines', async () => {
  const daemon = await served.start();
  await served.write('a.yaml', waiting('a', 2, 'x').replace('waitFor', 'waitfor'));
  await daemon.reload();
  expect(served.log.at(-1)).toMatch(/a\.yaml:5:\d+: .*waitfor.*Did you mean 'waitFor'/);
  const client = clientOf(daemon);
  const id = await startOf(client, 'a');
  await go(client, id);
  expect(await ended(client, id)).toMatchObject({ status: 'completed', version: 1 });
});

test('a reload interrupts neither a step nor a request: both end in their own time', async () => {
  await served.write('a.yaml', slow(1, 'first'));
  // Shorter than the step: a stop would abort it.
  const daemon = await served.start({ shutdownTimeout: '10ms' });
  const client = clientOf(daemon);
  const id = await startOf(client, 'slow');
  const answer = ended(client, id);
  await until(async () => (await served.did()).includes('began'));
  await served.write('a.yaml', slow(2, 'second'));
  await daemon.reload();
  const fresh = await startOf(client, 'slow');
  await served.write('go', '');
  expect((await answer).status).toBe('completed');
  expect((await ended(client, fresh)).status).toBe('completed');
  expect((await served.did()).sort()).toEqual(['began', 'began', 'first', 'second', 'worked', 'worked']);
});

test('with watch, a change of a file and a new file are read by themselves', async () => {
  const daemon = await served.start({ watch: true });
  const client = clientOf(daemon);
  await served.write('b.yaml', waiting('b', 1, 'b'));
  await served.logged(/^Reloaded: a@1, b@1$/);
  const id = await startOf(client, 'b');
  await go(client, id);
  expect((await ended(client, id)).status).toBe('completed');
});
