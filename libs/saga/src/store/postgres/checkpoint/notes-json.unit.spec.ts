import type { StepNote } from '../../../machine/step-notes.js';
import { notesOfJson, notesToJson } from './notes-json.js';

const repeats = [[2, 5_000, 'step']] as const;

test.each<[StepNote, unknown]>([
  [{ at: 7, status: 'compensated', compensationAttempts: 1 }, 7],
  [{ at: 7, status: 'compensated', compensationAttempts: 2 }, undefined],
  [{ at: 7, status: 'compensating', compensationAttempts: 1 }, undefined],
  [{ at: 7, status: 'compensated', compensationAttempts: 1, retryAt: null }, undefined],
  [{ at: 7, attempts: 2, failures: 1, retryAt: 9, repeats }, [7, 2, 1, 9, repeats]],
  [{ at: 7, attempts: 2, failures: 1, retryAt: null, repeats }, undefined],
  [{ at: 7, attempts: 2, failures: 1, retryAt: 9, unknown: true, repeats }, undefined],
  [{ at: 7, attempts: 2, failures: 1, retryAt: 9 }, undefined],
  [{ at: 7, attempts: 2, retryAt: 9, repeats }, undefined],
])('a note is read as it was written: %j', (note, short) => {
  const json = notesToJson(new Map([['__proto__', note]]));
  expect(Object.values(json)).toEqual([short ?? note]);
  expect(notesOfJson(JSON.parse(JSON.stringify(json)) as never)).toEqual(new Map([['__proto__', note]]));
});
