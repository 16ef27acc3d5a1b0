import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sagaHere } from '../cli/support/saga-here.js';
import { TestApps } from '../support/test-app.js';
import type { AdminClient } from '../admin/support/admin-client.js';
import { clientOf, ServedFolder } from './support/served-folder.js';

/** The examples of Floxy (github.com/rom8726/floxy) as files, whose commands keep a log of what they did. */
const FLOWS = fileURLToPath(new URL('flows', import.meta.url));
const apps = TestApps.onOwnDatabase();

interface Flow {
  readonly file: string;
  readonly saga: string;
  readonly input?: object;
  /** Words for `saga run`. */
  readonly answer?: readonly ['--approve' | '--reject', string];
  readonly status: 'completed' | 'compensated' | 'suspended';
  /** What is done, in order; an array within: at once. */
  readonly does: readonly (string | readonly string[])[];
  /** What may be done besides: it races with a step that fails. */
  readonly mayDo?: string;
}

const PIPELINE = ['validate', 'transform', 'aggregate', 'report'];
const ROUND = ['reserve', 'ship', 'return', 'release'];
const APPROVAL = { file: 'document-approval', saga: 'document-approval' } as const;
const ENDS: Readonly<Record<string, Flow>> = {
  'hello world': {
    ...{ file: 'hello-world', saga: 'hello-world', input: { name: 'Floxy' }, status: 'completed' },
    does: ['Hello, Floxy!'],
  },
  'conditions that hold': {
    ...{ file: 'condition', saga: 'condition-demo', input: { count: 2 }, status: 'completed' },
    does: ['start', ['branch1_step1', 'branch2_step1', 'branch1_else', 'branch2_next'], 'final'],
  },
  'a condition that leads to a step that fails': {
    ...{ file: 'condition', saga: 'condition-demo', input: { count: 6 }, status: 'compensated' },
    does: ['start', ['branch1_step1', 'branch2_step1', 'branch2_else']],
    mayDo: 'branch1_next',
  },
  'a data pipeline': {
    ...{ file: 'data-pipeline', saga: 'data-pipeline', status: 'completed' },
    does: [['source1', 'source2', 'source3', 'source4', 'source5'], ...PIPELINE],
  },
  'a dead letter': {
    ...{ file: 'dead-letter-queue', saga: 'dlq-demo', input: { should_fail: true }, status: 'suspended' },
    does: ['ok', 'maybe'],
  },
  'an order': {
    ...{ file: 'ecommerce', saga: 'ecommerce-order', input: { amount: 12 }, status: 'completed' },
    does: ['pay', 'reserve', 'ship', 'Order shipped successfully!'],
  },
  'an order whose payment fails': {
    ...{ file: 'ecommerce', saga: 'ecommerce-order', input: { amount: 1_200 }, status: 'compensated' },
    does: ['pay', 'pay', 'pay', 'Payment failed!'],
  },
  'a document that is approved': {
    ...{ ...APPROVAL, answer: ['--approve', 'human-approval'], status: 'completed' },
    does: ['process', 'approved by ann', 'Document has been approved and published!'],
  },
  'a document that is rejected': {
    ...{ ...APPROVAL, answer: ['--reject', 'human-approval'], status: 'compensated' },
    does: ['process', 'archive'],
  },
  'an order of a physical product': {
    ...{ file: 'order-processing', saga: 'order-processing', status: 'completed' },
    input: { product_type: 'physical' },
    does: ['validate', 'pay', ['email', 'sms', 'update inventory'], 'finalize'],
  },
  'an order of a digital product': {
    ...{ file: 'order-processing', saga: 'order-processing', status: 'completed' },
    input: { product_type: 'digital' },
    does: ['validate', 'pay', ['email', 'sms', 'skip inventory'], 'finalize'],
  },
  'services at once': {
    ...{ file: 'microservices', saga: 'microservices-orchestration', status: 'completed' },
    does: ['validate user', ['payment', 'inventory'], 'notify', ['analytics', 'audit'], 'finalize'],
  },
  'services that are rolled back': {
    ...{ file: 'microservices-rollback', saga: 'microservices-rollback', status: 'compensated' },
    does: ['debit', 'reserve', 'create order', 'ship', 'delete order', 'release', 'refund debit'],
  },
  'a rollback': {
    ...{ file: 'rollback', saga: 'rollback-demo', status: 'compensated' },
    does: ['pay', 'reserve', 'ship', 'cancel shipment', 'release', 'refund'],
  },
  'an order that is shipped from its savepoint on': {
    ...{ file: 'savepoint', saga: 'savepoint-demo', input: { amount: 500 }, status: 'completed' },
    does: ['pay', 'reserve', 'ship', 'Order processed successfully!'],
  },
  'a savepoint': {
    ...{ file: 'savepoint', saga: 'savepoint-demo', input: { amount: 1_200 }, status: 'compensated' },
    does: ['pay', ...ROUND, ...ROUND, 'refund'],
  },
};
const EXIT = { completed: 0, compensated: 1, suspended: 3 };

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'flows-')), 'flows');
  await cp(FLOWS, folder, { recursive: true });
});
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }));

const logged = async (within = folder) => (await readFile(join(within, 'log'), 'utf8')).trim().split('\n');

/** What was done, grouped as it is expected. */
async function done({ does, mayDo }: Flow, within = folder): Promise<Flow['does']> {
  const log = (await logged(within)).filter((one) => one !== mayDo);
  const groups = does.map((group) => {
    const part = log.splice(0, typeof group === 'string' ? 1 : group.length);
    return typeof group === 'string' ? part[0]! : part.sort();
  });
  return [...groups, ...log];
}

const sorted = (does: Flow['does']) => does.map((one) => (typeof one === 'string' ? one : [...one].sort()));

describe('a flow of Floxy ends as it does there, by', () => {
  test.each(Object.entries(ENDS))('saga run: %s', async (_, flow) => {
    const { file, input = {}, answer = [], status, does } = flow;
    const words = [
      'run',
      join(folder, `${file}.yaml`),
      '--input',
      JSON.stringify(input),
      ...answer,
      '--json',
    ];
    const { code, out } = await sagaHere(words, { environment: { USER: 'ann' } });
    expect([code, (JSON.parse(out) as { status: string }).status]).toEqual([EXIT[status], status]);
    expect(await done(flow)).toEqual(sorted(does));
  });

  test.each(Object.entries(ENDS))('an application on PostgreSQL: %s', async (_, flow) => {
    const { sagas } = await apps.start({ sagas: [], options: { declared: join(folder, '*.yaml') } });
    const saga = await sagas.start(flow.saga, flow.input ?? {});
    if (flow.answer) {
      const [decision, step] = flow.answer;
      await sagas[decision === '--approve' ? 'approve' : 'reject'](saga.id, step, { by: 'ann' });
    }
    expect((await saga.outcome()).status).toBe(flow.status);
    expect(await done(flow)).toEqual(sorted(flow.does));
  });

  describe('saga serve', () => {
    let served: ServedFolder;
    let client: AdminClient;
    beforeAll(async () => {
      served = await ServedFolder.create({});
      await cp(FLOWS, served.folder, { recursive: true });
      client = clientOf(await served.start());
    });
    afterAll(() => served.end());

    test.each(Object.entries(ENDS))('%s', async (_, flow) => {
      await rm(served.path('log'), { force: true });
      const { body: saga } = await client.post('/api/sagas', { saga: flow.saga, input: flow.input ?? {} });
      if (flow.answer) {
        const [decision, step] = flow.answer;
        await client.post(`/api/sagas/${saga.id}/${decision.slice(2)}`, { step, by: 'ann' });
      }
      const { body } = await client.get(`/api/sagas/${saga.id}?wait=60s`);
      expect(body.status).toBe(flow.status);
      expect(await done(flow, served.folder)).toEqual(sorted(flow.does));
    });
  });

  test('an operator, who retries a dead letter with another input', async () => {
    const { sagas, operations } = await apps.start({
      sagas: [],
      options: { declared: join(folder, '*.yaml') },
    });
    const saga = await sagas.start('dlq-demo', { should_fail: true });
    expect((await saga.outcome()).status).toBe('suspended');
    await operations.retry(saga.id, { input: { should_fail: false } });
    expect((await saga.outcome()).status).toBe('completed');
    expect(await logged()).toEqual(['ok', 'maybe', 'maybe', 'recovered']);
  });
});
