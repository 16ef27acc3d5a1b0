import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SagaTest } from 'nestjs-durable-saga/testing';
import { ImportSaga, type Row, Rows } from './resumable-import.js';

const LINES = 20_500;
let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'import-'));
  file = join(folder, 'lines.csv');
  await writeFile(file, Array.from({ length: LINES }, (_, n) => `row ${n + 1}\n`).join(''));
});
afterAll(() => rm(folder, { recursive: true }));

class RowsInMemory extends Rows {
  readonly stored = new Map<number, string>();
  /** The line at which each call began. */
  readonly batches: number[] = [];
  fails = (_line: number): unknown => undefined;

  override async store(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const line = rows[0]![0];
    this.batches.push(line);
    await this.fails(line);
    for (const [number, text] of rows) this.stored.set(number, text);
  }
}

test('an import that fails in the middle resumes where it was, and imports each line', async () => {
  const rows = new RowsInMemory();
  let failures = 0;
  rows.fails = (line) => {
    if (line === 9_001 && (failures += 1) < 3) throw new Error('the connection was lost');
  };
  const { outcome } = await SagaTest.of(ImportSaga).provide(Rows, rows).run({ file, lines: LINES });
  expect(outcome).toMatchObject({ status: 'completed', results: { load: { line: LINES } } });
  expect(rows.stored.size).toBe(LINES);
  const before = [1, 1_001, 2_001, 3_001, 4_001, 5_001, 6_001, 7_001, 8_001, 9_001];
  expect(rows.batches.slice(0, 13)).toEqual([...before, 9_001, 9_001, 10_001]);
});

test('an import that hangs is lost after 30 seconds, and the next attempt goes on', async () => {
  const rows = new RowsInMemory();
  let hangs = true;
  rows.fails = (line) => (line === 3_001 && hangs ? new Promise(() => (hangs = false)) : undefined);
  const run = await SagaTest.of(ImportSaga).provide(Rows, rows).run({ file, lines: LINES });
  expect(run.outcome.status).toBe('completed');
  expect(rows.batches.slice(0, 6)).toEqual([1, 1_001, 2_001, 3_001, 3_001, 4_001]);
  expect(run.snapshot.steps[0]!.errors[0]!.message).toContain('sent no heartbeat for 30000 ms');
});
