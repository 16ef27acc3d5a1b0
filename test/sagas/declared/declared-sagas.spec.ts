import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable, Scope } from '@nestjs/common';
import { Saga, Step, type StepContext, StepRejectedError } from '../../../libs/saga/src/index.js';
import { DeclaredSagaError } from '../../../libs/declared/src/index.js';
import { sagaHere } from '../../cli/support/saga-here.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'notify' })
class Notify {
  @Step() mail() {
    return 'sent';
  }
}

/** A participant that keeps what it was asked. */
let participant: Server;
let asked: { method: string; path: string; key: string }[];
let refuses: string | undefined;
let folder: string;

beforeAll(async () => {
  participant = createServer((request, response) => {
    const { method, url, headers } = request;
    asked.push({ method: method!, path: url!, key: String(headers['idempotency-key']) });
    response.statusCode = url === refuses ? 422 : 200;
    response.setHeader('content-type', 'application/json');
    response.end('{"id":"r1"}');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => participant.once('listening', resolve));
});
afterAll(() => void participant.close());
beforeEach(async () => {
  asked = [];
  refuses = undefined;
  folder = await mkdtemp(join(tmpdir(), 'declared-'));
  await write('order.yaml', fileOf(''));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFile(join(folder, name), text);
const files = () => ({ declared: [join(folder, '*.yaml')] });

function fileOf(more: string): string {
  const url = `http://127.0.0.1:${(participant.address() as AddressInfo).port}`;
  return `
saga: order
input: { type: object, required: [sku] }
steps:
  reserve:
    http: { method: POST, url: "${url}/reservations", body: "{{ { 'sku': input.sku } }}" }
    compensate: { http: { method: DELETE, url: "${url}/reservations/{{ result.id }}" } }
  charge: { http: { method: POST, url: "${url}/charges" }, retry: { attempts: 1 } }
${more}`;
}

describe('sagas of files, beside classes', () => {
  test('are started by name, and run on the database as classes do', async () => {
    const { sagas } = await apps.start({ sagas: [Notify], options: files() });
    const order = await sagas.start('order', { sku: 'cup' }, { correlationId: 'order-1' });
    expect(await order.outcome()).toMatchObject({
      status: 'completed',
      results: { reserve: { id: 'r1' }, charge: { id: 'r1' } },
    });
    expect((await (await sagas.start(Notify, undefined)).outcome()).status).toBe('completed');
    expect(await sagas.get({ saga: 'order', correlationId: 'order-1' })).toMatchObject({ saga: 'order' });
    expect((await sagas.start('order', { sku: 'cup' }, { correlationId: 'order-1' })).created).toBe(false);
    expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /reservations',
      'POST /charges',
    ]);
  });

  test('are compensated in reverse, each call with its own idempotency key', async () => {
    const { sagas } = await apps.start({ sagas: [Notify], options: files() });
    refuses = '/charges';
    const order = await sagas.start('order', { sku: 'cup' });
    expect(await order.outcome()).toMatchObject({ status: 'compensated', failure: { step: 'charge' } });
    expect(asked.map(({ path }) => path)).toEqual(['/reservations', '/charges', '/reservations/r1']);
    expect(new Set(asked.map(({ key }) => key)).size).toBe(3);
  });

  test('run sagas of classes as sub-sagas', async () => {
    await write('order.yaml', fileOf('  tell: { subSaga: { saga: notify } }'));
    const { sagas } = await apps.start({ sagas: [Notify], options: files() });
    const { results } = await (await sagas.start('order', { sku: 'cup' })).outcome();
    expect(results).toMatchObject({ tell: { mail: 'sent' } });
  });

  test('start in their highest version', async () => {
    await write(
      'order-2.yaml',
      `saga: order\nversion: 2\nsteps:\n  only: { exec: { command: [echo, '2'] } }\n`,
    );
    const { sagas } = await apps.start({ sagas: [Notify], options: files() });
    const order = await sagas.start('order', {});
    expect((await order.outcome()).results).toEqual({ only: 2 });
    expect((await sagas.get(order.id)).version).toBe(2);
  });

  test('check the input by their JSON Schema', async () => {
    const { sagas } = await apps.start({ sagas: [Notify], options: files() });
    await expect(sagas.start('order', {})).rejects.toThrow(/must have required property 'sku'/);
  });
});

@Injectable()
class StockService {
  readonly calls: unknown[] = [];
  reserve(input: { sku: string }, context: StepContext) {
    this.calls.push(['reserve', input, context.step]);
    if (input.sku === 'gone') throw new StepRejectedError('sold out');
    return { id: 7 };
  }
  release(input: unknown) {
    this.calls.push(['release', input]);
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {
  act() {}
}

const CALLING = `
saga: calling
steps:
  reserve:
    call: { method: StockService.reserve, input: { sku: '{{ input.sku }}' } }
    compensate: { call: { method: StockService.release, input: '{{ result.id }}' } }
  ship: { after: reserve, call: { method: StockService.reserve, input: { sku: '{{ input.then }}' } } }
`;

describe('steps call methods of providers by name', () => {
  test('with the input of the file and the context of the step', async () => {
    await write('calling.yaml', CALLING);
    const stock = new StockService();
    const providers = [{ provide: StockService, useValue: stock }];
    const { sagas } = await apps.start({ sagas: [], providers, options: files() });
    const saga = await sagas.start('calling', { sku: 'cup', then: 'gone' });
    expect(await saga.outcome()).toMatchObject({
      ...{ status: 'compensated', failure: { kind: 'rejected', step: 'ship' } },
    });
    expect(stock.calls).toEqual([
      ['reserve', { sku: 'cup' }, 'reserve'],
      ['reserve', { sku: 'gone' }, 'ship'],
      ['release', 7],
    ]);
  });

  test.each([
    ['StokService.reserve', /there is no provider StokService; did you mean StockService\?/],
    ['StockService.reserv', /StockService has no method reserv; did you mean reserve\?/],
    ['PerRequest.act', /PerRequest is request-scoped or transient/],
    ['reserve', /'reserve'/],
  ])('and start-up refuses %s, with its line', async (name, problem) => {
    await write('calling.yaml', CALLING.replace('StockService.release', name));
    const start = apps.start({ sagas: [], providers: [StockService, PerRequest], options: files() });
    await expect(start).rejects.toThrow(problem);
    await expect(start).rejects.toThrow(/calling\.yaml:6:\d+: /);
  });

  test('and saga run refuses them, because it has no providers', async () => {
    await write('calling.yaml', CALLING);
    const { code, error } = await sagaHere(['run', join(folder, 'calling.yaml')]);
    expect([code, error]).toEqual([2, expect.stringMatching(/only a Nest application has/)]);
  });
});

describe('start-up is refused for', () => {
  test('files with problems, each with its line', async () => {
    await write('order.yaml', fileOf('  tell: { subSaga: { saga: notfy } }'));
    const start = apps.start({ sagas: [Notify], options: files() });
    await expect(start).rejects.toThrow(DeclaredSagaError);
    await expect(start).rejects.toThrow(
      /order\.yaml:9:\d+: there is no saga 'notfy'.*Did you mean 'notify'\?/,
    );
  });

  test('a file and a class of one name and version', async () => {
    await write('notify.yaml', 'saga: notify\nsteps:\n  a: { exec: { command: [ls] } }\n');
    const start = apps.start({ sagas: [Notify], options: files() });
    await expect(start).rejects.toThrow(/both named 'notify' in version 1/);
  });

  test('a pattern that matches no file', async () => {
    const options = { declared: join(folder, 'none-*.yaml') };
    await expect(apps.start({ sagas: [Notify], options })).rejects.toThrow(/no file matches/);
  });

  const WRONG: readonly unknown[] = [7, [], [''], [7]];
  test.each(WRONG.map((declared) => [declared]))('declared: %j', async (declared) => {
    const options = { declared: declared as string };
    await expect(apps.start({ sagas: [Notify], options })).rejects.toThrow(
      /declared is .*; give paths of YAML or JSON files, such as 'sagas\/\*\.yaml'/,
    );
  });
});

test('a name that the application does not have is refused, with the nearest one', async () => {
  const { sagas } = await apps.start({ sagas: [Notify], options: files() });
  await expect(sagas.start('oder', {})).rejects.toThrow(/no saga named 'oder'\. Did you mean 'order'\?/);
});
