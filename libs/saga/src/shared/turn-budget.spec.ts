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

  test('is not charged for what is small, so that most sagas schedule nothing', () => {
    const budget = new TurnBudget(10_000);
    for (let n = 0; n < 100; n += 1) budget.spend(1_000);
    expect(budget.isSpent).toBe(false);
  });
});
