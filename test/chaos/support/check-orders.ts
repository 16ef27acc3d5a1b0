import type pg from 'pg';
import type { ChaosOrder } from '../programs/order.saga.js';

export interface SagaRow {
  id: string;
  status: string;
  input: ChaosOrder;
}

interface EffectRow {
  key: string;
  saga_id: string;
  step: string;
  compensation: boolean;
  seq: string;
  calls: number;
  known_result: string | null;
}

export interface StepRow {
  saga_id: string;
  name: string;
  status: string;
  unknown: boolean;
  result: { receipt: string } | null;
}

const STEPS = ['reserve', 'charge', 'ship', 'confirm'];

/** What the participants saw, held against what the sagas say: every deviation in words; none is the promise. */
export async function checkOrders(
  sagas: pg.Pool,
  participants: pg.Pool,
): Promise<{ wrong: string[]; repeated: number }> {
  const { rows: instances } = await sagas.query<SagaRow>(
    `SELECT id, status, input FROM saga.instance WHERE name = 'chaos-order'`,
  );
  const { rows: steps } = await sagas.query<StepRow>(
    'SELECT saga_id, name, status, "unknown", result FROM saga.step',
  );
  return checkOrdersOf({ instances, steps }, participants);
}

/** The same of sagas that are read already. */
export async function checkOrdersOf(
  { instances, steps }: { readonly instances: SagaRow[]; readonly steps: StepRow[] },
  participants: pg.Pool,
): Promise<{ wrong: string[]; repeated: number }> {
  const { rows: effects } = await participants.query<EffectRow>('SELECT * FROM effect ORDER BY seq');
  const stepsOf = groupBy(steps, (row) => row.saga_id);
  const effectsOf = groupBy(effects, (row) => row.saga_id);
  const known = new Set(instances.map(({ id }) => id));
  const wrong = effects.filter((e) => !known.has(e.saga_id)).map((e) => `effect ${e.key} is of no saga`);
  for (const saga of instances) {
    wrong.push(
      ...check(saga, stepsOf.get(saga.id) ?? [], effectsOf.get(saga.id) ?? []).map((w) => `${saga.id}: ${w}`),
    );
  }
  return { wrong, repeated: effects.filter((effect) => effect.calls > 1).length };
}

function check({ id, status, input }: SagaRow, steps: StepRow[], effects: EffectRow[]): string[] {
  const wrong: string[] = [];
  const expected = input.refused ? 'compensated' : 'completed';
  if (status !== expected) wrong.push(`is ${status}, should be ${expected}`);
  for (const { key, step, compensation } of effects) {
    // One key a step for ever: with it, the participant cannot do the work twice.
    if (key !== `${id}:${step}${compensation ? ':compensate' : ''}`)
      wrong.push(`effect with a foreign key ${key}`);
  }
  const done = (step: string) => effects.find((e) => e.step === step && !e.compensation);
  const undone = (step: string) => effects.find((e) => e.step === step && e.compensation);
  for (const name of STEPS) {
    const record = steps.find((step) => step.name === name);
    if (expected === 'completed') {
      if (!done(name)) wrong.push(`${name} is missing`);
      if (undone(name)) wrong.push(`${name} was undone`);
      if (record?.result?.receipt !== done(name)?.seq) wrong.push(`${name} has another's result`);
    } else {
      if (done(name) && !undone(name)) wrong.push(`${name} was not undone`);
      if (undone(name) && !done(name) && !record?.unknown)
        wrong.push(`${name} was undone without having been done`);
      const knownResult = undone(name)?.known_result ?? undefined;
      if (knownResult !== undefined && knownResult !== done(name)?.seq)
        wrong.push(`${name} was undone with a wrong result`);
    }
  }
  const order = effects.map((e) => `${e.compensation ? 'undo ' : ''}${e.step}`);
  const forward = STEPS.filter((name) => order.includes(name));
  const back = [...STEPS].reverse().filter((name) => undone(name));
  const right = [...forward, ...back.map((name) => `undo ${name}`)];
  if (order.join() !== right.join()) wrong.push(`happened in the order ${order.join(', ')}`);
  return wrong;
}

function groupBy<T>(rows: T[], key: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}
