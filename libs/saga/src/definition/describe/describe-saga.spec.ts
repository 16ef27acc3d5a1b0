import { SagaDefinitionError } from '../../errors.js';
import { describeSaga } from './saga-description.js';
import { Saga } from '../decorators/saga.decorator.js';
import { Step } from '../decorators/step.decorator.js';

@Saga({ version: 2 })
class PlaceOrderSaga {
  @Step({ compensate: 'release', timeout: '5s' })
  reserve() {}
  release() {}
  @Step({ retry: { attempts: 7 } })
  charge() {}
}

describe('describeSaga', () => {
  it('describes for a class what the application would run', () => {
    const saga = describeSaga(PlaceOrderSaga);
    expect(saga).toMatchObject({ name: 'place-order', version: 2, onFailure: 'compensate' });
    expect(saga.steps.map(({ name }) => name)).toEqual(['reserve', 'charge']);
    expect(saga.steps[0]).toMatchObject({ compensation: 'release', timeout: 5_000, retry: { attempts: 3 } });
    expect(saga.steps[1]).toMatchObject({ after: ['reserve'], retry: { attempts: 7 } });
    expect(saga.edges).toEqual([{ from: 'reserve', to: 'charge', join: 'all' }]);
  });

  it("takes the module's policies into account where a step has none of its own", () => {
    const { steps } = describeSaga(PlaceOrderSaga, { retry: { attempts: 5 } });
    expect(steps.map(({ retry }) => retry.attempts)).toEqual([5, 7]);
  });

  it('gives the same each time, in objects of its own', () => {
    expect(describeSaga(PlaceOrderSaga)).toEqual(describeSaga(PlaceOrderSaga));
    expect(describeSaga(PlaceOrderSaga)).not.toBe(describeSaga(PlaceOrderSaga));
  });

  it('refuses what the application would refuse', () => {
    expect(() => describeSaga(class NoSaga {})).toThrow(SagaDefinitionError);
  });
});
