import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requireClock, watchClock } from './clock-check.js';

describe('the clock of a process', () => {
  /** The difference (ms) of the other clock. Undefined: it is not shown. */
  let other: number | undefined;
  let server: Server;
  let admin: string;

  beforeEach(async () => {
    server = createServer((_request, response) => {
      response.sendDate = false;
      if (other !== undefined) response.setHeader('date', new Date(Date.now() + other).toUTCString());
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    admin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  test.each([0, 5_000, -5_000, undefined])('may differ from the other by %p ms', async (difference) => {
    other = difference;
    await requireClock(admin);
  });

  test.each([
    [60_000, /^The clock of this process is (59|60) s behind the clock of Restate\..* Synchronize/],
    [-60_000, /^The clock of this process is (60|61) s ahead of the clock of Restate\..* Synchronize/],
  ])('that differs by %p ms is refused', async (difference, problem) => {
    other = difference;
    await expect(requireClock(admin)).rejects.toThrow(problem);
  });

  test('that becomes wrong is an error of the log, again and again, until it is right', async () => {
    other = 0;
    const errors: string[] = [];
    const stop = watchClock(admin, { error: (message) => void errors.push(message) }, 5);
    await once(server, 'request');
    other = -60_000;
    while (errors.length < 2) await once(server, 'request');
    stop();
    expect(errors[1]).toContain('s ahead of the clock of Restate');
  });
});
