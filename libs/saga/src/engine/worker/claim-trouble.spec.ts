import { SagaCodecError } from '../../errors.js';
import { claimTrouble } from './claimer.js';
import type { EngineLog } from '../ports/engine-log.js';
import { SagaObservers } from '../observe/saga-observers.js';

function scene() {
  let now = 0;
  const lines: string[] = [];
  const line = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  const log: EngineLog = {
    debug: () => undefined,
    log: line('log'),
    warn: line('warn'),
    error: line('error'),
  };
  const counted: unknown[] = [];
  const observers = new SagaObservers(log);
  observers.measureBy({ claimFailed: (error: unknown) => counted.push(error) } as never);
  const isTransient = (error: unknown) => (error as Error).message.startsWith('lost');
  const trouble = claimTrouble({
    store: { isTransient },
    clock: { monotonic: () => now },
    log,
    observers,
  });
  return { trouble, lines, counted, pass: (ms: number) => (now += ms) };
}

describe('a claim that fails', () => {
  test('is logged immediately and counted, even if the failure is transient', () => {
    const { trouble, lines, counted } = scene();
    trouble.met(new Error('lost the connection'));
    expect(lines).toEqual([
      'warn Claiming failed: lost the connection. This worker runs no due sagas until a claim succeeds',
    ]);
    expect(counted).toEqual([new Error('lost the connection')]);
  });

  test('because this process cannot decode a saga says that the others run', () => {
    const { trouble, lines } = scene();
    trouble.met(new SagaCodecError('The key k-1 is absent.', 's-1', 'k-1'));
    expect(lines).toEqual(['error Claiming failed: The key k-1 is absent. The other due sagas run']);
  });

  test('is an error if it does not pass by itself', () => {
    const { trouble, lines } = scene();
    trouble.met(new Error('no such function'));
    expect(lines).toMatchObject([expect.stringMatching(/^error Claiming failed: no such function/)]);
  });

  test('again for the same reason is logged every half minute, with how long it lasts, and counted each time', () => {
    const { trouble, lines, counted, pass } = scene();
    for (let n = 0; n < 100; n += 1) {
      trouble.met(new Error('lost the connection'));
      pass(1_000);
    }
    expect(lines).toHaveLength(4);
    expect(lines[1]).toContain('Claiming failed, 31 times in 30.0 s: lost the connection');
    expect(counted).toHaveLength(100);
  });

  test('for another reason is logged at once', () => {
    const { trouble, lines } = scene();
    trouble.met(new Error('lost the connection'));
    trouble.met(new Error('lost again'));
    expect(lines).toHaveLength(2);
  });

  test('is followed by a log line when claims succeed again, and by none if none failed', () => {
    const { trouble, lines, pass } = scene();
    trouble.over();
    trouble.met(new Error('lost the connection'));
    pass(2_500);
    trouble.over();
    trouble.over();
    expect(lines.slice(1)).toEqual(['log Claiming succeeded again after 1 failure(s) in 2.5 s']);
    trouble.met(new Error('lost the connection'));
    expect(lines).toHaveLength(3);
  });
});
