import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { sagaHere } from '../cli/support/saga-here.js';
import { MemoryBroker } from '../messaging/support/memory-broker.js';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const FILE = `
saga: transfer
steps:
  debit:
    message:
      topic: bank.commands
      type: Debit
      payload: { amount: "{{ input.amount }}" }
      reply: { signal: bank-reply, timeout: 1h, reject: "payload.status = 'declined'", result: payload.id }
    compensate: { message: { topic: bank.commands, type: Credit, payload: { id: "{{ result }}" } } }
  approve: { approval: {} }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'messages-'));
  await writeFile(join(folder, 'transfer.yaml'), FILE);
});
afterEach(() => rm(folder, { recursive: true }));

describe('a message of a declared saga on PostgreSQL', () => {
  async function started() {
    const broker = new MemoryBroker();
    const app = await apps.start({
      sagas: [],
      options: { declared: join(folder, '*.yaml') },
      imports: [SagaMessagingModule.forRoot({ transport: broker })],
    });
    const saga = await app.sagas.start('transfer', { amount: 12 });
    await until(() => broker.taken.length > 0);
    return { ...app, broker, saga };
  }

  test('goes through the outbox to the broker, and its reply is the result', async () => {
    const { broker, saga, sagas } = await started();
    expect(broker.taken).toMatchObject([
      { topic: 'bank.commands', type: 'Debit', key: saga.id, payload: '{"amount":12}' },
    ]);
    expect(broker.taken[0]!.headers['saga-id']).toBe(saga.id);
    await sagas.signal(saga.id, 'bank-reply', { id: 'd-1' }, { messageId: 'm-1' });
    await sagas.approve(saga.id, 'approve', { by: 'ann' });
    expect(await saga.outcome()).toMatchObject({ status: 'completed', results: { debit: 'd-1' } });
    expect(broker.taken).toHaveLength(1);
  });

  test('is followed by the message of its compensation, with the reply', async () => {
    const { broker, saga, sagas } = await started();
    await sagas.signal(saga.id, 'bank-reply', { id: 'd-1' });
    await sagas.reject(saga.id, 'approve', { by: 'ann' });
    expect((await saga.outcome()).status).toBe('compensated');
    await until(() => broker.taken.length > 1);
    expect(broker.taken[1]).toMatchObject({ type: 'Credit', payload: '{"id":"d-1"}' });
  });
});

describe('saga run shows a message', () => {
  const run = (...words: string[]) =>
    sagaHere(['run', join(folder, 'transfer.yaml'), '--input', '{"amount":12}', ...words]);

  test('as it is published, and --signal answers it', async () => {
    const { code, out } = await run('--signal', 'bank-reply={"id":"d-1"}', '--approve', 'approve');
    expect(code).toBe(0);
    expect(out).toMatch(/\npublished Debit to bank\.commands, key [\w-]{36}: \{"amount":12\}\n/);
    expect(out).toContain('"debit": "d-1"');
  });

  test('once each, those of compensations too, and in the result of --json', async () => {
    const words = ['--signal', 'bank-reply={"id":"d-1"}', '--reject', 'approve'];
    const { code, out } = await run(...words);
    expect([code, out.match(/published \w+/g)]).toEqual([1, ['published Debit', 'published Credit']]);
    const { out: json } = await run(...words, '--json');
    expect(JSON.parse(json)).toMatchObject({
      published: [
        { type: 'Debit', payload: { amount: 12 } },
        { type: 'Credit', payload: { id: 'd-1' } },
      ],
    });
  });
});
