import {
  type ProbeAnswer,
  Saga,
  Step,
  StepRejectedError,
  UnknownOutcomeError,
} from '../../libs/saga/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';

let answers: ProbeAnswer<string>[] = [];
let attempts: (() => string)[] = [];

@Saga({ name: 'release' })
class ReleaseSaga {
  @Step({ compensate: 'unreserve' }) reserve() {}
  unreserve() {}
  @Step({ pivot: true, probe: 'isReleased', retry: { attempts: 3, delay: 10 } })
  release(): string {
    return attempts.shift()!();
  }
  isReleased(): ProbeAnswer<string> {
    return answers.shift() ?? 'unknown';
  }
}

const lost = () => {
  throw new UnknownOutcomeError('no answer');
};
const refused = () => {
  throw new StepRejectedError('released already');
};

const played = async (given: (() => string)[], asked: ProbeAnswer<string>[]) => {
  [attempts, answers] = [given, asked];
  return SagaTest.of(ReleaseSaga).run({});
};

describe('a probe', () => {
  test('is called when an attempt is rejected, and an earlier one may have taken effect: it has', async () => {
    const { outcome, trace } = await played([lost, refused], ['unknown', { done: 'by the first' }]);
    expect(trace).toEqual(['reserve', 'release', 'isReleased', 'release', 'isReleased']);
    expect(outcome).toMatchObject({ status: 'completed', results: { release: 'by the first' } });
  });

  test('says that no attempt has taken effect, so that the saga can be compensated', async () => {
    const { outcome, trace } = await played([lost, refused], ['unknown', 'not-done']);
    expect(trace.slice(-2)).toEqual(['isReleased', 'unreserve']);
    expect(outcome).toMatchObject({ status: 'compensated', failure: { kind: 'rejected' } });
  });

  test('that does not know leaves a pivot to an operator', async () => {
    const { outcome } = await played([lost, refused], ['unknown', 'unknown']);
    expect(outcome).toMatchObject({ status: 'stuck', failure: { kind: 'rejected' } });
  });

  test('is not called for a failure whose outcome is known, of a step without a doubtful attempt', async () => {
    const { trace } = await played([refused], []);
    expect(trace).toEqual(['reserve', 'release', 'unreserve']);
  });

  test('finds out about an attempt that was lost with its worker', async () => {
    const ends: string[] = [];
    const test = SagaTest.of(ReleaseSaga);
    await test.everyFailure(
      {},
      ({ outcome }, { name }) => void (outcome.status === 'stuck' && ends.push(name)),
      {
        beforeEach: () => {
          attempts = Array.from({ length: 9 }, () => () => 'released');
          answers = Array.from({ length: 9 }, () => 'not-done' as const);
        },
      },
    );
    expect(ends).toEqual([]);
  });
});
