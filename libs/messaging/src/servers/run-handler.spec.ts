import { of, throwError } from 'rxjs';
import { runHandler } from './run-handler.js';

const context = { the: 'context' };

/** A server as an application has hung its tracing on it. */
class TracedServer {
  readonly transportId = 'mqtt';
  readonly reported: unknown[] = [];
  onProcessingStartHook = (transport: unknown, of: unknown, work: () => Promise<void>) => {
    this.reported.push(['begin', transport, of]);
    // What it returns is the application's, and may never end.
    void work();
    return new Promise(() => undefined);
  };
  onProcessingEndHook = (transport: unknown, of: unknown) => {
    this.reported.push(['end', transport, of]);
  };
}

describe('the handlers of an event', () => {
  test.each([
    ['resolves', () => Promise.resolve('done')],
    ['answers with a stream', () => Promise.resolve(of(1, 2))],
  ])('run between the hooks of the application, and one that %s is done', async (_, handler) => {
    const server = new TracedServer();
    await runHandler(handler, 1, context, server);
    expect(server.reported).toEqual([
      ['begin', 'mqtt', context],
      ['end', 'mqtt', context],
    ]);
  });

  test.each([
    ['throws', () => Promise.reject(new Error('declined'))],
    ['gives a stream that fails', () => Promise.resolve(throwError(() => ({ message: 'declined' })))],
  ])('end their span and reject where one %s', async (_, handler) => {
    const server = new TracedServer();
    await expect(runHandler(handler, 1, context, server)).rejects.toThrow('declined');
    expect(server.reported).toHaveLength(2);
  });

  test('run where the server knows no hooks, as that of early versions of Nest 11', async () => {
    const seen: unknown[] = [];
    await runHandler(async (data) => void seen.push(data), 'a message', context, {});
    expect(seen).toEqual(['a message']);
    await expect(runHandler(() => Promise.reject(new Error('no')), 1, context, {})).rejects.toThrow('no');
  });

  test('are not run, and reject, where a hook throws before it', async () => {
    let runs = 0;
    const handler = async () => void (runs += 1);
    const onProcessingStartHook = () => {
      throw new Error('no tracer');
    };
    await expect(runHandler(handler, 1, context, { onProcessingStartHook } as object)).rejects.toThrow(
      'no tracer',
    );
    expect(runs).toBe(0);
  });
});
