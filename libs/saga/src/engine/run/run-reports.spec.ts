import { INITIAL, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { decodeReports, encodeReports, StepReport } from '../ports/step-reports.js';
import { RunReports } from './run-reports.js';

const beat = (line: number) => ({ heartbeat: { at: line, details: JSON.stringify({ line }) } });

test('the latest report of each kind is kept, of one round', () => {
  const reports = new RunReports(undefined);
  reports.put('load', 1, beat(1));
  reports.put('load', 1, { progress: { at: 2, percent: 50 } });
  reports.put('load', 1, beat(3));
  expect(reports.of('load', 1)).toEqual(new StepReport(1, { at: 2, percent: 50 }, beat(3).heartbeat));
  expect([reports.of('load', 2), reports.of('other', 1)]).toEqual([undefined, undefined]);
  reports.put('load', 2, beat(4));
  expect(reports.of('load', 2)).toEqual(new StepReport(2, undefined, beat(4).heartbeat));
});

test('what is stored is text that the next run reads, and is taken once', () => {
  const reports = new RunReports(undefined);
  expect([reports.hasNews, reports.take()]).toEqual([false, undefined]);
  reports.put('load', 1, beat(7));
  reports.put('it"em[0]', 3, { progress: { at: 1, message: '"quoted"' } });
  reports.put('none', 1, { heartbeat: { at: 5 } });
  const text = reports.take()!;
  expect(JSON.parse(text)).toMatchObject({ load: { heartbeat: { details: { line: 7 } } } });
  expect([reports.hasNews, reports.take()]).toEqual([false, undefined]);
  reports.stored();
  const next = new RunReports(text);
  expect(next.of('load', 1)).toEqual(reports.of('load', 1));
  expect(next.of('it"em[0]', 3)?.progress).toEqual({ at: 1, message: '"quoted"' });
  expect(next.of('none', 1)?.heartbeat).toEqual({ at: 5 });
  expect(encodeReports(decodeReports(text))).toBe(text);
  reports.put('none', 1, { heartbeat: { at: 5 } });
  expect(reports.take()).toBe(text);
});

test('a text has to wait for the one before, which would overwrite it if it arrived later', async () => {
  const reports = new RunReports(undefined);
  reports.put('load', 1, beat(1));
  expect([reports.isStored, reports.isUrgent, reports.sent]).toEqual([false, true, undefined]);
  reports.take();
  const { sent } = reports;
  reports.put('load', 1, beat(2), false);
  expect([reports.take(), reports.isUrgent, reports.isStored]).toEqual([undefined, false, false]);
  reports.stored();
  await sent;
  expect(reports.take()).toContain('"line":2');
  reports.stored();
  expect([reports.isStored, reports.sent]).toEqual([true, undefined]);
});

test('what could not be stored is news again, with all that came since', () => {
  const reports = new RunReports(undefined);
  reports.put('load', 1, beat(1));
  reports.take();
  reports.put('load', 1, beat(2));
  reports.giveBack();
  expect(reports.take()).toContain('"line":2');
});

describe('a step that has ended', () => {
  const stateWith = (steps: Record<string, Partial<StepState>>): SagaState => ({
    ...INITIAL,
    steps: new Map(Object.entries(steps).map(([name, step]) => [name, { ...PENDING, ...step }])),
  });
  const keysOf = (reports: RunReports) => {
    reports.put('other', 1, beat(9));
    const text = reports.take()!;
    reports.stored();
    return Object.keys(JSON.parse(text) as object);
  };

  test('is left out of the next text once that is stored, which is not worth a write', () => {
    const reports = new RunReports(undefined);
    for (const key of ['load', 'load:compensate', 'items[1]', 'failed']) reports.put(key, 1, beat(7));
    reports.take();
    reports.stored();
    const steps = { load: { status: 'completed' }, failed: { status: 'failed' } } as const;
    reports.forgetEnded(stateWith({ ...steps, 'items[1]': { status: 'completed' } }));
    expect(reports.hasNews).toBe(false);
    expect(keysOf(reports)).toEqual(['load:compensate', 'failed', 'other']);
    reports.forgetEnded(stateWith({ load: { status: 'compensated' }, failed: { round: 2 } }));
    expect(keysOf(reports)).toEqual(['other']);
  });

  test('keeps its details until then: its end may be lost with the worker', () => {
    const reports = new RunReports(undefined);
    reports.put('load', 1, beat(7));
    reports.forgetEnded(stateWith({ load: { status: 'running' } }));
    expect(keysOf(reports)).toContain('load');
  });
});

test('what this process cannot decode says nothing', () => {
  expect(decodeReports('"saga:coded:1.k.abc"').size).toBe(0);
  expect(decodeReports(undefined).size).toBe(0);
});
