import { TurnBudget } from './turn-budget.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a turn of the event loop', () => {
  test('has as many characters as its budget, and the next one has as many again', async () => {
    const budget = new TurnBudget(10_000);
    budget.spend(9_999);
    expect(budget.isSpent).toBe(false);
    budget.spend(1_024);
    expect(budget.isSpent).toBe(true);
    // The rest of this turn, and the next one.
    await turn();
    expect(budget.isSpent).toBe(true);
    await turn();
    expect(budget.isSpent).toBe(false);
  });

  test('serves those that wait for it in the order in which they came, as many as it has room for', async () => {
    const budget = new TurnBudget(10_000);
    let turns = 0;
    const done: [number, number][] = [];
    const work = async (n: number): Promise<void> => {
      if (budget.isSpent) await budget.nextTurn();
      budget.spend(5_000);
      done.push([n, turns]);
    };
    let ended = false;
    const count = (): void => {
      turns += 1;
      if (!ended) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all([0, 1, 2, 3, 4, 5].map(work)).finally(() => (ended = true));
    expect(done.map(([n]) => n)).toEqual([0, 1, 2, 3, 4, 5]);
    const turnsOf = done.map(([, at]) => at);
    expect(new Set(turnsOf).size).toBe(3);
    for (const at of turnsOf) expect(turnsOf.filter((other) => other === at)).toHaveLength(2);
  });

  test('has room for those that wait before those that come later', async () => {
    const budget = new TurnBudget(10_000);
    const done: string[] = [];
    const work = async (name: string): Promise<void> => {
      if (budget.isSpent) await budget.nextTurn();
      budget.spend(10_000);
      done.push(name);
    };
    const all = ['first', 'second', 'third'].map(work);
    await all[1];
    all.push(work('late'));
    await Promise.all(all);
    expect(done).toEqual(['first', 'second', 'third', 'late']);
  });

  test('costs as much for each of twenty thousand that wait as for each of two thousand', async () => {
    const looksOf = async (count: number): Promise<number> => {
      const budget = new TurnBudget(10_000);
      let looks = 0;
      const { isSpent } = Object.getOwnPropertyDescriptors(TurnBudget.prototype);
      Object.defineProperty(budget, 'isSpent', { get: () => ((looks += 1), isSpent.get!.call(budget)) });
      const work = async (): Promise<void> => {
        if (budget.isSpent) await budget.nextTurn();
        budget.spend(1_024);
      };
      await Promise.all(Array.from({ length: count }, work));
      return looks / count;
    };
    expect(await looksOf(20_000)).toBe(await looksOf(2_000));
  });

  test('is not charged for what is small, so that most sagas schedule nothing', () => {
    const budget = new TurnBudget(10_000);
    for (let n = 0; n < 100; n += 1) budget.spend(1_000);
    expect(budget.isSpent).toBe(false);
  });
});
