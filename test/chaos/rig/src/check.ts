import type { Started } from './load.js';
import { endsOf, entriesOf, wavesOf } from './expectations.js';
import type { RigInput } from './programs/rig-sagas.js';
import type { DemoEnvironment } from './stage.js';

/** What did not go as promised, in words. */
export interface Findings {
  /** Acknowledged, and not there, or not ended. */
  readonly lost: string[];
  /** Done twice: another key for the same effect, a ledger entry, an at-most-once step. */
  readonly doubled: string[];
  /** Left behind, undone though wanted, in a wrong order, or a wrong end. */
  readonly wrong: string[];
  /** Waiting for an operator, though nothing failed except what the rig broke. */
  readonly stuck: string[];
}

interface SagaRow {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly status: string;
  readonly input: RigInput;
  readonly correlation_id: string | null;
  /** Details for the reader of the report. */
  readonly why: string;
}

interface Effect {
  readonly key: string;
  readonly saga_id: string;
  readonly seq: number;
  readonly calls: number;
}

const TERMINAL = ['completed', 'compensated', 'aborted'];
const NEEDS_A_PERSON = ['stuck', 'suspended'];

/** Holds what the participants saw and what the ledger has against what the sagas say of themselves. */
export async function check(
  stage: DemoEnvironment,
  acknowledged: ReadonlyMap<string, Started>,
): Promise<Findings> {
  const sagas = await rowsOf<SagaRow>(
    stage,
    `SELECT id, name, version, status, input, correlation_id,
       concat_ws(' ', step, takeovers, error) AS why FROM saga.instance`,
  );
  const { rows: effects } = await stage.participants.query<Effect>(
    `SELECT key, saga_id, seq::int AS seq,
       calls + (SELECT count(*)::int FROM refused WHERE refused.key = effect.key) AS calls
     FROM effect ORDER BY seq`,
  );
  const entries = await rowsOf<{ saga_id: string; entry: string }>(
    stage,
    'SELECT saga_id, entry FROM ledger ORDER BY entry',
  );
  const findings: Findings = { lost: [], doubled: onTwoShards(sagas), wrong: [], stuck: [] };
  const known = new Map(sagas.map((saga) => [saga.id, saga]));
  for (const [id, { correlationId }] of acknowledged) {
    const saga = known.get(id);
    if (!saga) findings.lost.push(`${id}: its start was acknowledged, and it is not there`);
    else if (saga.correlation_id !== (correlationId ?? null))
      findings.wrong.push(`${id}: another's correlation id`);
  }
  const effectsOf = groupedBySaga(effects);
  const entriesBySaga = groupedBySaga(entries);
  for (const id of new Set([...effectsOf.keys(), ...entriesBySaga.keys()]))
    if (!known.has(id)) findings.wrong.push(`${id}: did something, and is not there`);
  for (const saga of sagas) {
    const written = (entriesBySaga.get(saga.id) ?? []).map(({ entry }) => entry);
    checkSaga(saga, effectsOf.get(saga.id) ?? [], written, findings);
  }
  findings.wrong.push(...overtakenInQueue(sagas, effectsOf));
  return findings;
}

/** The rows of all databases that have sagas. */
async function rowsOf<Row extends object>({ databases }: DemoEnvironment, text: string): Promise<Row[]> {
  const answers = await Promise.all(databases.map((database) => database.query<Row>(text)));
  return answers.flatMap(({ rows }) => rows);
}

/** A saga lives in one database, and so does each correlation id of a name. */
function onTwoShards(sagas: readonly SagaRow[]): string[] {
  const keys = sagas.flatMap(({ id, name, correlation_id }) =>
    correlation_id === null ? [id] : [id, `${name} ${correlation_id}`],
  );
  const seen = new Set<string>();
  return keys.flatMap((key) => {
    if (seen.has(key)) return [`${key}: is there twice`];
    seen.add(key);
    return [];
  });
}

function checkSaga(saga: SagaRow, effects: Effect[], entries: string[], findings: Findings): void {
  const { id, name, version, status, input, why } = saga;
  const say = (list: string[], what: string) => list.push(`${name}@${version} ${id}: ${what}`);
  if (NEEDS_A_PERSON.includes(status)) return void say(findings.stuck, `${status}: ${why}`);
  if (!TERMINAL.includes(status)) return void say(findings.lost, `is still ${status}: ${why}`);
  if (!endsOf(name, input.refused).includes(status)) say(findings.wrong, `is ${status}`);

  const waves = wavesOf(name, version);
  const wanted = new Set(waves.flat().flatMap((key) => [`${id}:${key}`, `${id}:${key}:compensate`]));
  for (const { key, calls } of effects) {
    if (!wanted.has(key)) say(findings.doubled, `has an effect under ${key}`);
    if (key === `${id}:notify` && calls > 1)
      say(findings.doubled, `its at-most-once step ran ${calls} times`);
  }
  const expected = entriesOf(name, status);
  if (new Set(entries).size < entries.length) say(findings.doubled, `wrote ${entries.join()}`);
  else if (entries.join() !== expected.join()) say(findings.wrong, `wrote ${entries.join()}`);

  const at = (key: string) => effects.find((effect) => effect.key === `${id}:${key}`)?.seq;
  for (const key of waves.flat()) {
    const [done, undone] = [at(key), at(`${key}:compensate`)];
    if (status === 'completed' && done === undefined) say(findings.wrong, `${key} is missing`);
    if (status === 'completed' && undone !== undefined) say(findings.wrong, `${key} was undone`);
    if (status === 'compensated' && done !== undefined && undone === undefined)
      say(findings.wrong, `${key} is left behind`);
  }
  const forward = waves.flatMap((wave) => [wave.flatMap((key) => at(key) ?? [])]);
  const back = waves.toReversed().map((wave) => wave.flatMap((key) => at(`${key}:compensate`) ?? []));
  if (!follow([...forward, ...back])) say(findings.wrong, 'happened in a wrong order');
}

/** Is everything of a wave later than everything of those before? */
function follow(waves: readonly (readonly number[])[]): boolean {
  let latest = 0;
  for (const wave of waves) {
    if (wave.some((seq) => seq < latest)) return false;
    latest = Math.max(latest, ...wave);
  }
  return true;
}

/** Sagas of one lock key are one after the other: what they do never interleaves. */
function overtakenInQueue(sagas: readonly SagaRow[], effectsOf: Map<string, Effect[]>): string[] {
  const spans = new Map<string, { id: string; first: number; last: number }[]>();
  for (const { id, name, input } of sagas) {
    const seqs = (effectsOf.get(id) ?? []).map(({ seq }) => seq);
    if (name !== 'rig-queue' || seqs.length === 0) continue;
    const key = String(input.n % 3);
    const span = { id, first: Math.min(...seqs), last: Math.max(...seqs) };
    spans.set(key, [...(spans.get(key) ?? []), span]);
  }
  return [...spans.values()].flatMap((line) => {
    line.sort((a, b) => a.first - b.first);
    return line.slice(1).flatMap((next, n) => {
      const before = line[n]!;
      return next.first < before.last ? [`${next.id}: ran beside ${before.id}, of the same lock key`] : [];
    });
  });
}

function groupedBySaga<T extends { readonly saga_id: string }>(rows: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(row.saga_id);
    if (group) group.push(row);
    else groups.set(row.saga_id, [row]);
  }
  return groups;
}
