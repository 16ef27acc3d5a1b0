import {
  Saga,
  Step,
  StepRejectedError,
  WaitFor,
  Approval,
  type StepContext,
} from '../../libs/saga/src/index.js';
import { timelineOf } from '../../libs/saga/src/operators.js';
import { Gate, until } from '../support/gate.js';
import { OrderScene } from '../support/order-scene.js';
import type { Shown } from './support/admin-client.js';
import { AdminApps } from './support/admin-apps.js';

const apps = AdminApps.onOwnDatabase();
const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';
const ONCE = { attempts: 1 };

@Saga({ name: 'waiting', retry: ONCE })
class Waiting {
  @WaitFor({ signal: 'go' }) go(_: StepContext, payload: { word: string }) {
    return payload;
  }
  @Approval() allow() {}
}

@Saga({ name: 'greet' })
class Greet {
  @Step() greet(ctx: StepContext<{ name: string }>) {
    return `hello ${ctx.input.name}`;
  }
}

describe('the read endpoints', () => {
  test('a list, newest first, has pages and filters for saga, status, tags and time', async () => {
    const { sagas, client } = await apps.start({ sagas: [Greet, Waiting] });
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const handle = await sagas.start(Greet, { name }, { tags: { tenant: name } });
      await handle.outcome();
      ids.unshift(handle.id);
    }
    const waiting = await sagas.start(Waiting, {});
    const first = await client.list('saga=greet&limit=2');
    expect(first.items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const second = await client.list(`saga=greet&limit=2&cursor=${first.next}`);
    expect(second.items.map(({ id }) => id)).toEqual(ids.slice(2));
    expect(second.next).toBeUndefined();
    const found = async (query: string) => (await client.list(query)).items.map(({ id }) => id);
    expect(await found('status=running,stuck')).toEqual([waiting.id]);
    expect(await found('tag=tenant:b')).toEqual([ids[1]]);
    expect(await found('createdAfter=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await found('createdBefore=2999-01-01T00:00:00Z&saga=greet')).toEqual(ids);
    expect(await found('endedBefore=2999-01-01T00:00:00Z')).toEqual(ids);
    expect(await found('endedAfter=2999-01-01T00:00:00Z')).toEqual([]);
    expect(await found('overdue=true')).toEqual([]);
    expect(await found('overdue=false&saga=greet')).toEqual(ids);
    expect(await found('step=never')).toEqual([]);
    expect(await found('errorCode=DECLINED')).toEqual([]);
  });

  test('a saga is found by its whole id, and by its whole correlation id', async () => {
    const { sagas, client } = await apps.start({ sagas: [Greet] });
    const { id } = await sagas.start(Greet, { name: 'a' }, { correlationId: 'order 4711' });
    for (const search of [id, id.toUpperCase(), 'order 4711', ' order 4711 ']) {
      const { body } = await client.get(`/api/sagas?search=${encodeURIComponent(search)}`);
      expect(body.items).toMatchObject([{ id, correlationId: 'order 4711' }]);
    }
    for (const search of [UNKNOWN_ID, 'order'])
      expect((await client.get(`/api/sagas?search=${search}`)).body.items).toEqual([]);
  });

  test('one saga comes with its steps, what it waits for, and what may be done to it', async () => {
    const scene = new OrderScene();
    scene.failing = ['refund'];
    const { sagas, client } = await apps.start({ sagas: [scene.saga] });
    scene.charge.open('charged');
    scene.failing = ['ship', 'refund'];
    const order = await sagas.start(scene.saga, { sku: 'desk' });
    await order.outcome();
    const { body } = await client.get(`/api/sagas/${order.id}`);
    expect(body).toMatchObject({
      id: order.id,
      status: 'stuck',
      input: { sku: 'desk' },
      payloads: { shown: true },
      failure: { kind: 'error', step: 'ship' },
      waitingFor: { kind: 'person', steps: ['charge'] },
      waitsFor: "an operator: step 'charge' needs attention",
    });
    const timeline = body.timeline as { text: string }[];
    expect(timeline.map(({ text }) => text)).toEqual(
      timelineOf(await sagas.get(order.id)).map(({ text }) => text),
    );
    expect(timeline.at(-1)).toMatchObject({ kind: 'saga', text: 'the saga is stuck' });
    expect((body as Shown).steps.map(({ name }) => name)).toEqual(['reserve', 'charge', 'ship']);
    expect(body.actions).toEqual([
      { kind: 'retry', steps: ['charge'] },
      { kind: 'resolve', steps: ['charge'] },
      { kind: 'abort' },
    ]);
    const graph = await client.get(`/api/sagas/${order.id}/graph`);
    expect(graph.body).toMatchObject({ known: true, edges: [{ from: 'reserve', to: 'charge' }, {}] });
    expect(graph.body.layout.nodes).toHaveLength(3);
    const plan = await client.get(`/api/sagas/${order.id}/rollback`);
    expect(plan.body.compensations).toMatchObject([{ step: 'charge', compensate: 'refund' }, {}]);
  });

  test('definitions come with their diagrams, and figures by saga and status', async () => {
    const { client } = await apps.start({ sagas: [Greet, Waiting] });
    const { body } = await client.get('/api/definitions');
    expect(body).toMatchObject([
      { name: 'greet', version: 1, steps: [{ name: 'greet' }] },
      { name: 'waiting', version: 1, layout: { nodes: [{ name: 'go' }, { name: 'allow' }] } },
    ]);
    expect(body[0].mermaid).toContain('flowchart TD');
    const context = await client.get('/api/context');
    expect(context.body).toEqual({ sagas: ['greet', 'waiting'], bulk: true });
  });

  test('a saga of another process is shown with its graph as stored', async () => {
    const other = await apps.start({ sagas: [Waiting] });
    const { id } = await other.sagas.start(Waiting, {});
    const { client } = await apps.start({ sagas: [Greet] });
    expect((await client.get(`/api/sagas/${id}`)).body).toMatchObject({ id, saga: 'waiting' });
    const { body } = await client.get(`/api/sagas/${id}/graph`);
    expect(body).toMatchObject({ known: false, steps: [{ name: 'go', kind: 'signal' }, { name: 'allow' }] });
    const plan = await client.get(`/api/sagas/${id}/rollback`);
    expect([plan.status, plan.body.code]).toEqual([409, 'SAGA_DEFINITION']);
  });
});

describe('the actions of operators', () => {
  test('retry and resolve free a stuck saga', async () => {
    const scene = new OrderScene();
    scene.failing = ['ship', 'refund'];
    const { sagas, client } = await apps.start({ sagas: [scene.saga] });
    scene.charge.open('charged');
    const order = await sagas.start(scene.saga, {});
    await order.outcome();
    expect((await client.post(`/api/sagas/${order.id}/retry`)).body).toEqual({ done: true });
    await order.outcome();
    const resolve = (given: object) => client.post(`/api/sagas/${order.id}/resolve`, given);
    const withResult = await resolve({ step: 'charge', reason: 'manual', result: null });
    expect([withResult.status, withResult.body.code]).toEqual([400, 'SAGA_VALIDATION']);
    const resolved = await resolve({ step: 'charge', reason: 'manual' });
    expect([resolved.status, resolved.body]).toEqual([200, { done: true }]);
    expect((await order.outcome()).status).toBe('compensated');
  });

  test('cancel is offered when the call would accept it, and not while a pivot is in progress', async () => {
    const [booking, paying, booked, paid] = [new Gate(), new Gate(), new Gate(), new Gate()];
    @Saga({ name: 'booking', retry: ONCE })
    class Booking {
      @Step({ compensate: 'release' }) async book() {
        booking.open();
        await booked.opened;
      }
      release() {}
      @Step({ pivot: true }) async pay() {
        paying.open();
        await paid.opened;
        throw new StepRejectedError('declined');
      }
    }
    const { sagas, client } = await apps.start({ sagas: [Booking] });
    const { id, outcome } = await sagas.start(Booking, {});
    const actions = async () =>
      ((await client.get(`/api/sagas/${id}`)).body.actions as { kind: string }[]).map(({ kind }) => kind);
    await booking.opened;
    expect(await actions()).toContain('cancel');
    booked.open();
    await paying.opened;
    expect(await actions()).toEqual(['pause', 'resolve', 'abandon', 'abort']);
    expect((await client.post(`/api/sagas/${id}/cancel`, { reason: 'called' })).status).toBe(409);
    paid.open();
    expect((await outcome()).status).toBe('compensated');
  });

  test('cancel and abort say why, in the saga’s failure', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting] });
    for (const action of ['cancel', 'abort']) {
      const { id } = await sagas.start(Waiting, {});
      expect((await client.post(`/api/sagas/${id}/${action}`, { reason: 'called' })).status).toBe(200);
      const outcome = await sagas.wait(id);
      expect(outcome.status).toBe(action === 'cancel' ? 'compensated' : 'aborted');
      expect(outcome.failure).toMatchObject({ kind: 'cancelled', reason: 'called' });
      expect((await sagas.get(id)).waitingFor).toBeUndefined();
    }
  });

  test('undo turns a completed saga back', async () => {
    const { sagas, client } = await apps.start({ sagas: [Greet] });
    const greeting = await sagas.start(Greet, { name: 'a' });
    await greeting.outcome();
    expect((await client.post(`/api/sagas/${greeting.id}/undo`)).body).toEqual({ done: true });
    expect((await sagas.wait(greeting.id)).status).toBe('compensated');
  });

  test('signals and decisions reach the steps that wait for them', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting], admin: { operator: () => 'ada' } });
    const handle = await sagas.start(Waiting, {});
    const path = `/api/sagas/${handle.id}`;
    expect((await client.post(`${path}/signal`, { signal: 'go', payload: { word: 'x' } })).status).toBe(200);
    const approved = await client.post(`${path}/approve`, { step: 'allow', by: 'another operator' });
    expect([approved.status, approved.body]).toEqual([200, { done: true }]);
    expect((await handle.outcome()).status).toBe('completed');
  });
});

describe('actions of operators are recorded, and a missing saga rejects them', () => {
  test('who did what, when and why is the saga’s history', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting], admin: { operator: () => 'ada@shop' } });
    const { id } = await sagas.start(Waiting, {});
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');
    await client.post(`/api/sagas/${id}/pause`, { reason: 'stocktaking', by: 'another operator' });
    expect((await client.get(`/api/sagas/${id}`)).body).toMatchObject({
      status: 'paused',
      waitingFor: { kind: 'paused', by: 'ada@shop', reason: 'stocktaking' },
      actions: expect.arrayContaining([{ kind: 'resume' }]),
    });
    await client.post(`/api/sagas/${id}/resume`);
    await client.post(`/api/sagas/${id}/abort`, { reason: 'enough' });
    expect((await client.get(`/api/sagas/${id}/history`)).body).toMatchObject([
      {
        ...{
          action: 'pause',
          by: 'ada@shop',
          reason: 'stocktaking',
          from: 'running',
          at: expect.any(String),
        },
        text: 'paused by ada@shop, while running: stocktaking',
      },
      { action: 'resume', by: 'ada@shop', from: 'paused' },
      { action: 'abort', by: 'ada@shop', reason: 'enough', from: 'running' },
    ]);
  });

  test('without an operator from the application, the caller states a name', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting] });
    const { id } = await sagas.start(Waiting, {});
    await client.post(`/api/sagas/${id}/pause`, { by: 'Ada' });
    expect((await client.get(`/api/sagas/${id}/history`)).body).toMatchObject([{ by: 'Ada' }]);
  });

  test('an action that expects another state, or another revision, does nothing', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting] });
    const { id } = await sagas.start(Waiting, {});
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');
    const { revision } = (await client.get(`/api/sagas/${id}`)).body as { revision: number };
    for (const expects of [
      { status: 'stuck' },
      { revision: revision - 1 },
      { status: 'running', revision: revision + 1 },
    ]) {
      const answer = await client.post(`/api/sagas/${id}/abort`, { expects });
      expect([answer.status, answer.body.code]).toEqual([409, 'SAGA_STATE']);
    }
    const answer = await client.post(`/api/sagas/${id}/abort`, { expects: { status: 'running', revision } });
    expect(answer.status).toBe(200);
  });

  test('an action that needs a second approval waits for it', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting], options: { approvals: { abort: 2 } } });
    const { id } = await sagas.start(Waiting, {});
    // A proposal is for the saga as it is: it is void once a step is stored.
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');
    const first = await client.post(`/api/sagas/${id}/abort`, { by: 'ada' });
    expect([first.status, first.body]).toEqual([200, { done: false, approvals: 1, needed: 2 }]);
    const second = await client.post(`/api/sagas/${id}/abort`, { by: 'bob' });
    expect(second.body).toEqual({ done: true });
    expect((await sagas.get(id)).status).toBe('aborted');
  });

  test('many at once are counted first, and touched only when asked for in so many words', async () => {
    const { sagas, client } = await apps.start({ sagas: [Waiting, Greet] });
    for (let n = 0; n < 3; n++) {
      const { id } = await sagas.start(Waiting, {}, { tags: { n: String(n) } });
      // A saga that goes on between the list and the call is left alone.
      await until(async () => (await sagas.get(id)).waitingFor !== undefined);
    }
    const all = { action: 'abort', filter: { saga: 'waiting', status: ['running'] }, reason: 'over' };
    const counted = await client.post('/api/bulk', all);
    expect([counted.status, counted.body]).toMatchObject([200, { matched: 3, done: 0, more: false }]);
    const one = { ...all, filter: { ...all.filter, tags: { n: '1' } }, dryRun: false };
    expect((await client.post('/api/bulk', one)).body).toMatchObject({ matched: 1, done: 1, failed: [] });
    const some = { ...all, dryRun: false, limit: 1 };
    expect((await client.post('/api/bulk', some)).body).toMatchObject({ matched: 1, done: 1, more: true });
    for (const wrong of [
      { ...all, action: 'resolve' },
      { ...all, filter: {} },
      { ...all, limit: 1_001 },
      { ...all, filter: { saga: 'waiting', id: 'x' } },
    ]) {
      const answer = await client.post('/api/bulk', wrong);
      expect([answer.status, answer.body.code]).toEqual([400, 'SAGA_VALIDATION']);
    }
    expect((await client.get('/api/stats')).body).toMatchObject({
      sagas: [{ saga: 'waiting', version: 1, status: 'running', count: 1 }],
      due: expect.any(Number),
      overdue: 0,
      pausedSteps: [],
      outbox: { waiting: 0, dead: 0 },
    });
  });
});

describe('refusals state the problem by status and by a stable code', () => {
  test.each<[string, string, number, string]>([
    ['an id that no saga has', `/api/sagas/${UNKNOWN_ID}`, 404, 'SAGA_NOT_FOUND'],
    ['what is no id', '/api/sagas/none', 404, 'SAGA_NOT_FOUND'],
    ['a status that there is not', '/api/sagas?status=lost', 400, 'SAGA_VALIDATION'],
    ['a filter that there is not', '/api/sagas?name=x', 400, 'SAGA_VALIDATION'],
    ['a longer page than there may be', '/api/sagas?limit=201', 400, 'SAGA_VALIDATION'],
    ['a page of nothing', '/api/sagas?limit=0', 400, 'SAGA_VALIDATION'],
    ['a limit that is given twice', '/api/sagas?limit=1&limit=1000', 400, 'SAGA_VALIDATION'],
    ['a tag without a value', '/api/sagas?tag=tenant', 400, 'SAGA_VALIDATION'],
    ['a time that is none', '/api/sagas?createdAfter=soon', 400, 'SAGA_VALIDATION'],
    ['a cursor that is none', '/api/sagas?cursor=x', 400, 'SAGA_VALIDATION'],
    ['rates over years', '/api/rates?hours=99999', 400, 'SAGA_VALIDATION'],
    ['rates in more pieces than there may be', '/api/rates?buckets=61', 400, 'SAGA_VALIDATION'],
  ])('looking: %s', async (_, path, status, code) => {
    const { client } = await apps.start();
    const answer = await client.get(path);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.message).toEqual(expect.any(String));
  });

  test.each<[string, string, unknown, number, string]>([
    ['what the state does not allow', 'undo', {}, 409, 'SAGA_STATE'],
    ['a step that does not stand', 'abandon', { step: 'allow' }, 409, 'SAGA_STATE'],
    ['a step that the saga does not have', 'resolve', { step: 'nowhere' }, 400, 'SAGA_VALIDATION'],
    ['no step', 'resolve', {}, 400, 'SAGA_VALIDATION'],
    ['a signal that no step waits for', 'signal', { signal: 5 }, 400, 'SAGA_VALIDATION'],
    ['a decision without an author', 'approve', { step: 'allow' }, 400, 'SAGA_VALIDATION'],
    ['a field that there is not', 'cancel', { why: 'typo' }, 400, 'SAGA_VALIDATION'],
    ['a body that is no object', 'cancel', [1], 400, 'SAGA_VALIDATION'],
    ['a reason that is no text', 'cancel', { reason: 5 }, 400, 'SAGA_VALIDATION'],
    ['a payload that cannot be stored', 'signal', { signal: 'go', payload: 'a\0b' }, 400, 'SAGA_PAYLOAD'],
  ])('acting: %s', async (_, action, body, status, code) => {
    const { sagas, client } = await apps.start({ sagas: [Waiting] });
    const { id } = await sagas.start(Waiting, {});
    const answer = await client.post(`/api/sagas/${id}/${action}`, body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect((await sagas.get(id)).status).toBe('running');
  });

  test('a database that does not answer in time is reported as 503', async () => {
    const { client } = await apps.start({ dataSource: { extra: { options: '-c lock_timeout=50' } } });
    await apps.sql('BEGIN');
    await apps.sql('LOCK TABLE saga.instance');
    const answer = await client.get('/api/rates');
    await apps.sql('ROLLBACK');
    expect([answer.status, answer.body.code]).toEqual([503, 'SAGA_UNAVAILABLE']);
    expect((await client.get('/api/rates')).status).toBe(200);
  });
});
