import { VirtualTime } from '../../testing/virtual-time.js';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import type { Action } from '../../machine/plan.js';
import { INITIAL } from '../../machine/saga-state.js';
import { boundAttempt, isBounded } from './bound-attempt.js';
import { StepAttempt } from './step-attempt.js';

const time = new VirtualTime(0);
const clock = time.clockOf({ isAlive: true });

/** Attempts of a step, with the times at which they end. */
function bounded(kind: Action['kind'], options: { timeout?: number; heartbeat?: number }) {
  const node = graphOf(stepOf('load', options)).steps.get('load')!;
  const ports = { maxPayloadBytes: 1_000, newId: () => 'id', clock, now: () => time.now };
  const keeper = { keepReport: () => undefined, reportOf: () => undefined };
  const action = { kind, node, key: 'load' } as Action;
  const attempt = new StepAttempt(action, SAGA, INITIAL, clock.monotonic(), ports, keeper);
  attempt.messages.open(undefined);
  const begun = time.now;
  const ends: [number, string | undefined][] = [];
  const stop = boundAttempt(attempt, clock, () => ends.push([time.now - begun, attempt.abortedBy?.trigger]));
  return { attempt, ends, stop, passes: (ms: number) => time.proceedTo(time.now + ms) };
}

test('an attempt is lost if no heartbeat comes in time, counted from the last one', async () => {
  const { attempt, ends, passes } = bounded('run', { heartbeat: 100 });
  for (let n = 0; n < 5; n += 1) {
    passes(90);
    await attempt.reports.heartbeat(n);
  }
  passes(99);
  expect(ends).toEqual([]);
  passes(1);
  expect(ends).toEqual([[550, 'heartbeat']]);
  await expect(attempt.reports.heartbeat()).rejects.toThrow("Step 'load' sent no heartbeat for 100 ms");
});

test('without any heartbeat it is lost after the same time; its timeout counts as well', async () => {
  const silent = bounded('run', { heartbeat: 100, timeout: 1_000 });
  silent.passes(100);
  expect(silent.ends).toEqual([[100, 'heartbeat']]);
  const slow = bounded('run', { heartbeat: 100, timeout: 150 });
  slow.passes(80);
  await slow.attempt.reports.heartbeat();
  slow.passes(70);
  expect(slow.ends).toEqual([[150, 'timeout']]);
});

test.each(['compensate', 'probe'] as const)('no heartbeat is asked of a %s', (kind) => {
  const { attempt, ends, passes } = bounded(kind, { heartbeat: 100 });
  expect(isBounded(attempt)).toBe(false);
  passes(1_000);
  expect(ends).toEqual([]);
});

test('an attempt that has ended is not watched any more', () => {
  const { ends, stop, passes } = bounded('run', { heartbeat: 100, timeout: 200 });
  stop();
  passes(1_000);
  expect([ends, time.next]).toEqual([[], undefined]);
});
