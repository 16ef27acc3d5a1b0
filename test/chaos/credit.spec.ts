import { runCredit } from './rig/src/credit/run-credit.js';

describe('the credit demo, killed at random, for a few seconds', () => {
  test('no message is lost, none is handled twice, and orders, credits and payments add up', async () => {
    const said: string[] = [];
    const say = (line: string) => said.push(line);
    const figures = await runCredit({ orders: 80, rate: 10, seed: 1, calm: [500, 2_000], say });
    expect({ ...figures, said }).toMatchObject({ orders: 80, lost: 0, doubled: 0, wrong: 0, said });
    expect(Object.values(figures.kills).reduce((a, b) => a + b, 0)).toBeGreaterThan(3);
  });
});
