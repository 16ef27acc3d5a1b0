import { Saga, Step, type StepContext } from '../../../libs/saga/src/index.js';

/** Two steps. The second one fails if the input names a reason. */
@Saga({ name: 'order' })
export class OrderSaga {
  @Step({ compensate: 'release' }) reserve() {}
  release() {}
  @Step({ retry: { attempts: 2, delay: 1 } }) charge({ input }: StepContext<{ declined?: string }>) {
    if (input.declined !== undefined) throw new TypeError(input.declined);
  }
}
