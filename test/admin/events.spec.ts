import { Saga, Step, type StepContext, WaitFor } from '../../libs/saga/src/index.js';
import { Gate, until } from '../support/gate.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();
let counted: Gate;
beforeEach(() => (counted = new Gate()));

@Saga({ name: 'counted', redact: ['pin'] })
class Counted {
  @WaitFor({ signal: 'go' }) go() {}
  @Step() async count(ctx: StepContext<{ pin: string }>) {
    ctx.progress({ percent: 42.9, message: 'line 429' });
    await ctx.heartbeat({ line: 429 });
    await counted.opened;
  }
}

interface Sent {
  status: string;
  waitsFor?: string;
  input: { pin: string };
  actions: object[];
  steps: { name: string; progress?: { percent: number; message: string }; heartbeatAt?: string }[];
}

/** Reads server-sent events until the response ends. */
async function eventsOf(answer: Response, seen: Sent[]): Promise<void> {
  let text = '';
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop()!;
    for (const part of parts) {
      const data = part.split('\n').filter((line) => line.startsWith('data: '));
      if (data.length > 0) seen.push(JSON.parse(data.map((line) => line.slice(6)).join('')) as Sent);
    }
  }
}

test('server-sent events: redacted, with actions and progress, until the saga has ended', async () => {
  const { sagas, client } = await apps.start({ sagas: [Counted] });
  const { id } = await sagas.start(Counted, { pin: '1234' });
  const answer = await fetch(`${client.base}/api/sagas/${id}/events`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const seen: Sent[] = [];
  const ended = eventsOf(answer, seen);
  await until(() => seen.at(-1)?.waitsFor?.includes('go'));
  expect(seen.at(-1)).toMatchObject({ status: 'running', waitsFor: expect.stringContaining('go') });
  expect(seen[0]!.input.pin).not.toBe('1234');
  expect(seen[0]!.actions.length).toBeGreaterThan(0);
  await sagas.signal(id, 'go');
  const counting = () => seen.at(-1)?.steps.find(({ name }) => name === 'count');
  await until(() => counting()?.progress && counting()?.heartbeatAt);
  expect(counting()!.progress).toMatchObject({ percent: 42.9, message: 'line 429' });
  counted.open();
  await ended;
  expect(seen.at(-1)!.status).toBe('completed');
});

test('the access rules are those of one saga; access that is withdrawn ends the stream', async () => {
  let mayLook = true;
  const authorize = ({ kind }: { kind: string }) => kind !== 'look' || mayLook;
  const { sagas, client } = await apps.start({ sagas: [Counted], admin: { authorize } });
  const { id } = await sagas.start(Counted, { pin: '1234' });
  const path = (of: string) => `/api/sagas/${of}/events`;
  expect((await client.get(path('00000000-0000-7000-8000-000000000000'))).status).toBe(404);
  const seen: Sent[] = [];
  const ended = eventsOf(await fetch(`${client.base}${path(id)}`), seen);
  await until(() => seen.length > 0);
  mayLook = false;
  await sagas.signal(id, 'go');
  await ended;
  expect(seen.every(({ status }) => status === 'running')).toBe(true);
  expect((await client.get(path(id))).status).toBe(403);
  counted.open();
});
