import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { HttpCallError } from '@restatedev/restate-sdk-clients';
import { UnstorableError } from 'nestjs-durable-saga/internal/backend';
import { AdminError, isOutage, isTransient, refusesData, request } from './restate-errors.js';

const httpError = (status: number) => new HttpCallError(status, 'no', `answered ${status}`);
const errorOf = (call: Promise<unknown>) => call.then(() => undefined).catch((error: unknown) => error);

/** What a call of a server fails by that answers half of it, and nothing at all. */
async function networkErrors(): Promise<unknown[]> {
  const server = createServer((request, response) => {
    if (request.url === '/silent') return;
    response.write('half');
    setTimeout(() => response.destroy(), 20);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const errors = [
    await errorOf(request(`${url}/silent`, { signal: AbortSignal.timeout(50) })),
    await errorOf(request(url).then((answer) => answer.text())),
  ];
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return [...errors, await errorOf(request(url))];
}

describe('an error of a call of Restate', () => {
  test('that had no answer, or half of one, is an outage', async () => {
    for (const error of await networkErrors())
      expect([error, isOutage(error), isTransient(error), refusesData(error)]).toEqual([
        error,
        true,
        true,
        false,
      ]);
  });

  test('that had no answer says why, also if a name has several addresses', async () => {
    const server = createServer().listen(0, 'localhost');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    for (const host of ['127.0.0.1', 'localhost']) {
      const { message } = (await errorOf(request(`http://${host}:${port}`))) as Error;
      expect(message).toContain('ECONNREFUSED');
      expect(message).not.toContain('\n');
    }
  });

  test.each([500, 503, 404, 408, 429])('with status %i is an outage that soon ends', (status) => {
    for (const error of [httpError(status), new AdminError(status, 'no')])
      expect([isOutage(error), isTransient(error), refusesData(error)]).toEqual([true, true, false]);
  });

  test.each([401, 403, 409, 302])(
    'with status %i, which says nothing of the saga, is an outage',
    (status) => {
      expect([isOutage(httpError(status)), refusesData(httpError(status))]).toEqual([true, false]);
    },
  );

  test.each([400, 413, 422])('with status %i refuses what was given', (status) => {
    expect([isOutage(httpError(status)), refusesData(httpError(status))]).toEqual([false, true]);
  });

  test('that is none of them is no outage: of a program, or of a value that cannot be stored', () => {
    expect([isOutage(new TypeError('x is not a function')), isOutage(undefined)]).toEqual([false, false]);
    expect([isOutage(new UnstorableError('no')), refusesData(new UnstorableError('no'))]).toEqual([
      false,
      true,
    ]);
  });
});
