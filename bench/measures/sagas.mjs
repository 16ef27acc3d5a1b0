// Sagas to be measured, as classes, with what the compiler makes of decorators.
import { Saga, Step, StepRejectedError, WaitFor } from '../../libs/saga/dist/index.js';

/** A method of the class with its decorator. */
export function addMethod(type, name, method, decorator) {
  Object.defineProperty(type.prototype, name, { value: method, configurable: true, writable: true });
  decorator?.(type.prototype, name, Object.getOwnPropertyDescriptor(type.prototype, name));
}

/**
 * A saga of steps s1, s2, …, each of which waits for the one before.
 * @param body what a step does: (ctx, its number) => its result
 * @param step (its number) => its options
 * @param undo what the compensations do that the options name
 */
export function sagaOfSteps(count, { name = 'plain', body = () => 1, step = () => ({}), undo } = {}) {
  const type = { [`Saga${name}`]: class {} }[`Saga${name}`];
  for (let n = 1; n <= count; n += 1) {
    const options = step(n);
    if (options.compensate) addMethod(type, options.compensate, undo);
    addMethod(type, `s${n}`, async (ctx) => body(ctx, n), Step(options));
  }
  Saga({ name })(type);
  return type;
}

/** One whose last step is refused: those before it are compensated. */
export function refusedSaga(count, name = 'refused') {
  return sagaOfSteps(count, {
    name,
    step: (n) => (n < count ? { compensate: `undo${n}` } : {}),
    body: (_ctx, n) => {
      if (n === count) throw new StepRejectedError('refused');
      return n;
    },
    undo: async () => {},
  });
}

/** One of whose steps each fails twice, and is tried again 10 ms later. */
export function failingSaga(count, name = 'failing') {
  return sagaOfSteps(count, {
    name,
    step: () => ({ retry: { attempts: 3, delay: 10, factor: 1, jitter: 0 } }),
    body: (ctx, n) => {
      if (ctx.attempt < 3) throw new Error('not yet');
      return n;
    },
  });
}

/** One that waits for a signal behind its first step. */
export function waitingSaga(name = 'waiting') {
  const type = { SagaWaiting: class {} }.SagaWaiting;
  addMethod(type, 'request', async () => 1, Step());
  addMethod(type, 'reply', async (_ctx, payload) => payload, WaitFor({ signal: 'reply' }));
  Saga({ name })(type);
  return type;
}

/** One of these methods, by name, each with its decorator. Nothing calls them. */
export function sagaWith(options, decorators) {
  const type = class {};
  for (const [name, decorator] of Object.entries(decorators)) addMethod(type, name, async () => 1, decorator);
  Saga(options)(type);
  return type;
}
