import { readFile } from 'node:fs/promises';
import { SagaService } from 'nestjs-durable-saga';
import { ChaosOrderSaga } from './programs/order.saga.js';
import type { Fault } from './rig/src/stage.js';
import { FAULTS } from './rig/src/faults/all-faults.js';
import { runFault } from './rig/src/run-fault.js';
import { unexplained } from './rig/src/unexplained.js';
import { createChaosDatabases } from './support/chaos-databases.js';
import { createStarter } from './support/starter-app.js';

/** Some of each sort, one after the other: `npm run chaos` runs all of them for as long as one likes. */
const SOME = ['kill', 'network-half-open', 'answers-lost', 'postgres-immediate', 'terminate-backend'];

const some: Fault = {
  name: 'some',
  what: 'Several faults, one after the other.',
  async inject(stage) {
    for (const name of SOME) await FAULTS.find((fault) => fault.name === name)!.inject(stage);
  },
};

describe('the rig, with a few of its faults, for a few seconds', () => {
  test('nothing is lost, doubled, left behind or stuck, and sagas go on after the faults', async () => {
    const said: string[] = [];
    const say = (line: string) => said.push(line);
    const figures = await runFault(some, { minutes: 0.1, rate: 20, seed: 1, say });
    // What it said tells which saga, and what of it.
    expect({ ...figures, said }).toMatchObject({ lost: 0, doubled: 0, wrong: 0, stuck: 0, said });
    expect(figures!.sagas).toBeGreaterThan(50);
    expect(figures!.recoveryMax).toBeLessThan(Infinity);
  });

  test('a shard that is lost takes nothing from the other one, and nothing of its own is lost', async () => {
    const said: string[] = [];
    const shardDown = FAULTS.find(({ name }) => name === 'shard-down')!;
    const say = (line: string) => said.push(line);
    const figures = await runFault(shardDown, { minutes: 0.1, rate: 15, seed: 2, say });
    expect({ ...figures, said }).toMatchObject({ lost: 0, doubled: 0, wrong: 0, stuck: 0, said });
    expect(figures!.sagas).toBeGreaterThan(50);
    expect(figures!.recoveryMax).toBeLessThan(Infinity);
  });

  test('a saga is found that is neither due nor held, and waits for nothing', async () => {
    const databases = await createChaosDatabases();
    const starter = await createStarter(databases, [ChaosOrderSaga]);
    const { id } = await starter
      .get(SagaService)
      .start(ChaosOrderSaga, { n: 1, refused: false, shaky: false });
    expect(await unexplained(databases.sagas)).toEqual([]);
    await databases.sagas.query('UPDATE saga.instance SET due_at = NULL');
    const found = [`chaos-order ${id} waits for nothing that is stored`];
    expect(await unexplained(databases.sagas)).toEqual(found);
    await starter.close();
    await expect(databases.drop()).rejects.toThrow(`Nothing will move: ${found[0]}`);
  });

  test('every fault is described in docs/reliability.md', async () => {
    const page = await readFile(new URL('../../docs/reliability.md', import.meta.url), 'utf8');
    for (const { name, what } of FAULTS) expect(page).toContain(`- \`${name}\`: ${what}`);
  });
});
