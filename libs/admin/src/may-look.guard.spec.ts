import { EventEmitter } from 'node:events';
import type { ExecutionContext } from '@nestjs/common';
import type { AdminAccess } from './admin-access.js';
import { MayLook, MOST_STREAMS } from './may-look.guard.js';

const contextOf = (response: object) =>
  ({
    switchToHttp: () => ({ getRequest: () => ({ params: { id: 'a' } }), getResponse: () => response }),
  }) as unknown as ExecutionContext;

test.each([
  ['express', (response: EventEmitter) => response],
  ['fastify', (response: EventEmitter) => ({ raw: response })],
])(
  'a process sends a limited number of streams of events, and one that has ended makes room: %s',
  async (_, given) => {
    const guard = new MayLook({ one: async () => undefined } as unknown as AdminAccess);
    const responses = Array.from({ length: MOST_STREAMS }, () => new EventEmitter());
    for (const response of responses) await guard.canActivate(contextOf(given(response)));
    const next = contextOf(given(new EventEmitter()));
    await expect(guard.canActivate(next)).rejects.toMatchObject({
      code: 'SAGA_UNAVAILABLE',
      message: expect.stringContaining('1000 streams of events'),
    });
    responses[0]!.emit('close');
    expect(await guard.canActivate(next)).toBe(true);
    await expect(guard.canActivate(next)).rejects.toThrow('1000 streams');
  },
);
