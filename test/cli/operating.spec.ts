import { Gate, until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { waits } from '../support/waits.js';
import { bank, Letter, order, PlaceOrder, ran, shop, Transfer } from './support/orders.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const run = sagaHereOn(apps);

const rows = () => apps.sql('SELECT id, status, epoch, checkpoints FROM saga.instance ORDER BY id');

describe('saga cancel', () => {
  test('has the application undo what was done, and keeps who, and why', async () => {
    const { sagas, operations } = await shop(apps);
    bank.open = new Gate();
    const { id, outcome } = await sagas.start(PlaceOrder, { sku: 'cup' }, { correlationId: 'order-1' });
    await until(() => ran.includes('charge'));
    const cancelled = await run('cancel place-order/order-1 --yes --reason', 'the customer called');
    expect([cancelled.code, cancelled.out]).toEqual([0, 'Cancelled place-order/order-1\n']);
    bank.open.open();
    expect(await outcome()).toMatchObject({
      status: 'compensated',
      failure: { kind: 'cancelled', reason: 'the customer called' },
    });
    expect(ran.slice(-2)).toEqual(['refund', 'release']);
    expect(await operations.history(id)).toMatchObject([
      { action: 'cancel', by: 'ann', reason: 'the customer called', from: 'running' },
    ]);
  });

  test('heeds the pivot of a class that it does not have', async () => {
    const { sagas } = await shop(apps);
    const { id } = await sagas.start(Letter, {});
    await waits(apps, id);
    const before = await rows();
    const { code, out, error } = await run('cancel', id, '--yes');
    expect([code, out]).toEqual([1, '']);
    expect(error).toMatch(/^saga: SAGA_STATE: .*has passed its pivot, and only goes forward\.\n$/);
    const preview = await run('cancel', id, '--dry-run');
    expect([preview.code, preview.out]).toEqual([0, expect.stringContaining(`pivot, 'send'`)]);
    expect(await rows()).toEqual(before);
  });

  test('shows what it would undo when it is only tried, in order', async () => {
    const { sagas } = await shop(apps);
    await order(sagas, 'order-1', 'ship', 'release');
    const before = await rows();
    const { code, out } = await run('cancel place-order/order-1 --dry-run');
    expect(code).toBe(0);
    expect(out).toMatch(/These steps would be compensated, in this order:\n {2}reserve, by release\n/);
    expect(out).not.toContain('reservation');
    const { rollback } = JSON.parse((await run('cancel place-order/order-1 --dry-run --json')).out);
    expect(rollback.compensations).toEqual([{ step: 'reserve', compensate: 'release', unknown: false }]);
    expect(await rows()).toEqual(before);
  });

  test.each(['cancel', 'abort', 'undo'])(
    'or %s does nothing without a terminal and without --yes',
    async (call) => {
      const { sagas } = await shop(apps);
      await order(sagas, 'order-1');
      const before = await rows();
      const { code, error } = await run(`${call} place-order/order-1`);
      expect([code, error]).toEqual([
        2,
        expect.stringMatching(/^saga: USAGE: .*Give --yes to skip the prompt\n/),
      ]);
      expect(await rows()).toEqual(before);
    },
  );
});

describe('saga abort', () => {
  test('stops a saga and compensates nothing', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const done = ran.length;
    expect(await run('abort', id, '--yes', '--json', '--by', 'bob')).toMatchObject({
      code: 0,
      out: '{"done":true}\n',
    });
    expect((await sagas.get(id)).status).toBe('aborted');
    expect(ran).toHaveLength(done);
    const again = await run('retry', id);
    expect([again.code, again.error]).toEqual([1, expect.stringContaining('SAGA_STATE')]);
  });
});

describe('saga undo', () => {
  test('compensates what has completed', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1');
    expect((await run('undo place-order/order-1 --yes --reason returned')).code).toBe(0);
    expect(await sagas.wait(id)).toMatchObject({ status: 'compensated', failure: { reason: 'returned' } });
    expect(ran.slice(-2)).toEqual(['refund', 'release']);
  });
});

describe('saga retry', () => {
  test('lets a stuck saga go on', async () => {
    const { sagas, operations } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    expect((await sagas.get(id)).status).toBe('stuck');
    const retried = await run('retry', id, '--input', '{"sku":"cup"}', '--expects', 'stuck');
    expect([retried.code, retried.out]).toEqual([0, `Retried ${id}\n`]);
    expect((await sagas.wait(id)).status).toBe('compensated');
    expect((await operations.history(id))[0]).toMatchObject({ action: 'retry', newInput: true });
    const { out } = await run('show', id, '--payloads');
    expect(out).toMatch(/ input +{"sku":"cup"}\n.* started with +{"sku":/);
    expect((await run('show', id)).out).not.toContain('started with');
    expect((await run('show', id, '--json')).out).not.toContain('startedInput');
  });

  test('uses every option that the class sets for the steps that follow', async () => {
    const { sagas } = await shop(apps);
    const { id, outcome } = await sagas.start(Transfer, { sku: 'cup', failing: ['tell'] });
    expect((await outcome()).status).toBe('suspended');
    expect((await run('resolve', id, 'tell', '--result', '"manual"', '--yes')).code).toBe(0);
    const waitingFor = await until(async () => {
      const { waitingFor: now } = await sagas.get(id);
      return now?.kind === 'signal' ? now : undefined;
    });
    // With the timeout that is the class's.
    expect(waitingFor).toMatchObject({ signal: 'confirmed', until: expect.any(Date) });
    expect((await sagas.get(id)).steps[1]).toMatchObject({
      name: 'tell',
      status: 'completed',
      result: 'manual',
    });
  });

  test('does nothing to a saga that is not as it is expected', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const { revision } = JSON.parse((await run('show', id, '--json')).out);
    for (const expected of [
      ['--expects', 'suspended'],
      ['--expects-revision', String(revision - 1)],
    ]) {
      const { code, error } = await run('retry', id, ...expected);
      expect([code, error]).toEqual([1, expect.stringContaining('SAGA_STATE')]);
    }
    expect((await run('retry', id, '--expects-revision', String(revision))).code).toBe(0);
  });
});

describe('saga resolve', () => {
  test('marks a compensation that failed permanently as done elsewhere', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const wrong = await run('resolve', id, 'charge', '--yes');
    expect([wrong.code, wrong.error]).toEqual([1, expect.stringContaining('stuck at: reserve')]);
    const withResult = await run('resolve', id, 'reserve', '--result', '"released"', '--yes');
    expect([withResult.code, withResult.error]).toEqual([
      2,
      expect.stringMatching(/SAGA_VALIDATION.*a compensation has no result/s),
    ]);
    expect((await run('resolve', id, 'reserve', '--yes')).out).toBe(
      `Marked 'reserve' of ${id} as done elsewhere\n`,
    );
    expect((await sagas.wait(id)).status).toBe('compensated');
  });
});

describe('saga pause and saga resume', () => {
  test('let a saga stand still, and go on', async () => {
    const { sagas } = await shop(apps);
    const { id } = await sagas.start(Letter, {});
    await waits(apps, id);
    expect((await run('pause', id, '--reason', 'strike')).out).toBe(`Paused ${id}\n`);
    expect((await run('show', id)).out).toMatch(/waits for +an operator to resume it: paused by ann: strike/);
    await sagas.signal(id, 'answered');
    expect((await sagas.get(id)).status).toBe('paused');
    expect((await run('resume', id)).code).toBe(0);
    expect((await sagas.wait(id)).status).toBe('completed');
  });
});

describe('saga history', () => {
  test('shows who did what, when and why, and so does the timeline', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    await run('retry', id, '--reason', 'the stock is up again');
    await sagas.wait(id);
    const { code, out } = await run('history', id);
    expect(code).toBe(0);
    expect(out).toMatch(/^20\S+Z {2}retried by ann, while stuck: the stock is up again\n$/);
    expect((await run('show', id)).out).toMatch(/ retried by ann, while stuck: the stock is up again\n/);
    expect(JSON.parse((await run('history', id, '--json')).out)).toMatchObject([
      { action: 'retry', by: 'ann' },
    ]);
  });
});

describe('the timeline of a saga whose failed compensation was retried', () => {
  test('keeps what happened before in its order', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const before = await sagas.get(id);
    await run('retry', id, '--input', '{"sku":"cup"}', '--reason', 'repaired');
    await sagas.wait(id);
    const { out } = await run('show', id);
    const lines = out.slice(out.indexOf('Timeline')).split('\n');
    const inOrder = [
      'charge was',
      'retried with another input by ann',
      'reserve was',
      'the saga compensated',
    ];
    const places = inOrder.map((text) => lines.findIndex((line) => line.includes(text)));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places).not.toContain(-1);
    const undone = (saga: typeof before) => saga.steps.find(({ name }) => name === 'charge')!.updatedAt;
    expect(undone(await sagas.get(id))).toEqual(undone(before));
  });
});

describe('an action that needs a second approval', () => {
  test('is refused to the first one, and kept', async () => {
    const { sagas } = await shop(apps, { approvals: { abort: 2 } });
    const id = await order(sagas, 'order-1', 'ship', 'release');
    const first = await run('abort', id, '--yes');
    expect([first.code, first.error]).toEqual([1, expect.stringContaining('SAGA_APPROVAL_PENDING')]);
    expect((await run('history', id)).out).toContain('abort proposed by ann');
    expect((await run('abort', id, '--yes')).code).toBe(1);
    expect((await run('abort', id, '--yes', '--by', 'bob')).code).toBe(0);
    expect((await sagas.get(id)).status).toBe('aborted');
  });
});

describe('a call by --where', () => {
  test('counts first, and then does the same to all that are found', async () => {
    const { sagas } = await shop(apps);
    const stuck = [
      await order(sagas, 'order-1', 'ship', 'release'),
      await order(sagas, 'order-2', 'ship', 'release'),
    ];
    await order(sagas, 'order-3');
    const filter = '--where saga=place-order --where status=stuck';
    const before = await rows();
    const tried = await run(`retry ${filter} --dry-run`);
    expect([tried.code, tried.out]).toEqual([0, expect.stringMatching(/^2 sagas\n/)]);
    for (const id of stuck) expect(tried.out).toContain(id);
    expect((await run(`retry ${filter}`)).code).toBe(2);
    expect(await rows()).toEqual(before);
    const { code, out } = await run(`abort ${filter} --yes --json --limit 1`);
    expect([code, JSON.parse(out)]).toEqual([
      0,
      { matched: 1, done: 1, proposed: 0, failed: [], more: true },
    ]);
    expect((await run(`abort ${filter} --yes`)).out).toBe('abort: 1 of 1 saga\n');
    for (const id of stuck) expect((await sagas.get(id)).status).toBe('aborted');
  });

  test('says which it did not fit, and ends with 1', async () => {
    const { sagas } = await shop(apps);
    const id = await order(sagas, 'order-1');
    const { code, out, error } = await run('pause --where saga=place-order --yes');
    expect([code, out]).toEqual([1, 'pause: 0 of 1 saga\n']);
    expect(error).toMatch(new RegExp(`^${id}: .*cannot be paused: it is completed`));
  });

  test.each([
    ['retry', /Give a <target>, or select several sagas with --where/],
    [
      'retry place-order/order-1 --where status=stuck',
      /Give a <target>, or select several sagas with --where/,
    ],
    ['retry --where state=stuck --yes', /--where has no 'state'; give a filter: saga=/],
    ['retry --where status=stock --yes', /'stock' is not a status; give one of running, /],
    ['retry --where status=stuck --step ship --yes', /--step and --input apply to one saga/],
    ['retry --where status=stuck --expects stuck --yes', /--expects applies to one saga/],
  ])('as in saga %s is not understood', async (words, message) => {
    await shop(apps);
    const { code, error } = await run(words);
    expect([code, error]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('saga stats', () => {
  test('counts what has not ended, and what is due', async () => {
    const { sagas } = await shop(apps);
    await order(sagas, 'order-1');
    await order(sagas, 'order-2', 'ship', 'release');
    const { code, out } = await run('stats');
    expect(code).toBe(0);
    expect(out).toMatch(/^place-order@1 +stuck +1\n\ndue +0\noverdue +0\noutbox +0 waiting; 0 dead\n$/);
    expect(JSON.parse((await run('stats --json')).out)).toMatchObject({
      sagas: [{ saga: 'place-order', version: 1, status: 'stuck', count: 1 }],
      due: 0,
    });
  });
});
