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
  const next = new RunReports(text);
  expect(next.of('load', 1)).toEqual(reports.of('load', 1));
  expect(next.of('it"em[0]', 3)?.progress).toEqual({ at: 1, message: '"quoted"' });
  expect(next.of('none', 1)?.heartbeat).toEqual({ at: 5 });
  expect(encodeReports(decodeReports(text))).toBe(text);
  reports.giveBack();
  expect(reports.take()).toBe(text);
});

test('a step that has ended is left out of the next text, which is not worth a write', () => {
  const reports = new RunReports(undefined);
  reports.put('load', 1, beat(7));
  reports.put('other', 1, beat(8));
  reports.take();
  reports.forget('load');
  expect(reports.hasNews).toBe(false);
  reports.put('other', 1, beat(9));
  expect(Object.keys(JSON.parse(reports.take()!) as object)).toEqual(['other']);
});

test('what this process cannot decode says nothing', () => {
  expect(decodeReports('"saga:coded:1.k.abc"').size).toBe(0);
  expect(decodeReports(undefined).size).toBe(0);
});
