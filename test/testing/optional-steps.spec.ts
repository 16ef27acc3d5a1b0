import { type CompensationContext, Saga, Step, type StepContext } from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

const stands = new Set<string>();
const fresh = { beforeEach: () => stands.clear() };

@Saga({ name: 'outing' })
class Outing {
  @Step({ compensate: 'cancelRoom' }) room() {
    stands.add('room');
  }
  cancelRoom() {
    stands.delete('room');
  }
  @Step({ onFailure: 'continue', timeout: '10s', compensate: 'cancelCar' })
  car(): string | undefined {
    stands.add('car');
    return 'a car';
  }
  cancelCar(_: CompensationContext<unknown, string>) {
    stands.delete('car');
  }
  @Step() tell({ results }: StepContext<unknown, Outing>): string {
    return results.car ?? 'on foot';
  }
  @Step({ onFailure: 'continue' }) ask() {}
}

describe('the test of a saga with optional steps', () => {
  test('fails one, and the saga completes without it', async () => {
    const run = await SagaTest.of(Outing).failing('car', new Error('no cars')).run({});
    expect(run.outcome).toMatchObject({ status: 'completed', results: { tell: 'on foot' } });
    expect(run.trace).toEqual(['room', 'car', 'tell', 'ask']);
  });

  test('walks each failure of one: nothing that it did is left behind, and the saga completes', async () => {
    const report = await SagaTest.of(Outing).everyFailure(
      {},
      ({ outcome }, { kind, method }) => {
        const { car, tell } = outcome.results;
        expect(stands.has('car')).toBe(outcome.status === 'completed' && car !== undefined);
        if (method === 'car' && (kind === 'rejected' || kind === 'timed-out')) {
          expect(outcome.status).toBe('completed');
          expect(tell).toBe('on foot');
        }
      },
      fresh,
    );
    expect(report.points.find(({ name }) => name.startsWith('car times out'))).toMatchObject({
      ...{ kind: 'timed-out', status: 'completed' },
      trace: expect.arrayContaining(['cancelCar', 'tell']) as string[],
    });
    // The longest rollback begins at the last step that is not optional.
    expect(report.points.some(({ name }) => name.endsWith('when tell is rejected'))).toBe(true);
  });
});
